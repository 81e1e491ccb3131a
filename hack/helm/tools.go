//go:build tools

// Package helm pins the version of Helm that hack/chart.sh and the tests of the chart use.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
