module tephra.sh/frameworks/k8s-0.33

go 1.26.0

require github.com/argoproj/argo-workflows/v3 v3.7.4

replace github.com/olekukonko/tablewriter => github.com/olekukonko/tablewriter v0.0.5

tool github.com/argoproj/argo-workflows/v3/cmd/workflow-controller
