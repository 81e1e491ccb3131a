package frameworks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// random is a job of some framework.
type random struct {
	kind, name, text string
	resource         schema.GroupVersionResource
	// condition ends the job; "": it is deleted after it was whole.
	condition string
	groups    int    // PodGroups that are whole before it is deleted
	group     string // part of the names of its PodGroups; "": the UID of the object
}

// of is the resource of an object of the text.
func (r random) of(kind string) schema.GroupVersionResource {
	if kind == "TrainingRuntime" {
		return resourceOf("trainer.kubeflow.org", "v1alpha1", "trainingruntimes")
	}
	return r.resource
}

// ended says whether the job has ended; it deletes a job that serves when it was whole.
func (r random) ended(ctx context.Context, client dynamic.Interface, ns string, gangs *gangs) (bool, error) {
	objects := client.Resource(r.resource).Namespace(ns)
	object, err := objects.Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if r.condition == "" {
		group := r.group
		if group == "" {
			group = string(object.GetUID())
		}
		if !gangs.isWhole(group, r.groups) {
			return false, nil
		}
		background := metav1.DeletePropagationBackground
		return true, objects.Delete(ctx, r.name, metav1.DeleteOptions{PropagationPolicy: &background})
	}
	if phase, _, _ := unstructured.NestedString(object.Object, "status", "state", "phase"); phase == r.condition { // of Volcano
		return true, nil
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["status"] != string(core.ConditionTrue) {
			continue
		}
		if condition["type"] == r.condition {
			return true, nil
		}
		if condition["type"] == "Failed" {
			return false, fmt.Errorf("%s %s failed: %v", r.kind, r.name, condition)
		}
	}
	return false, nil
}

// maker makes the text of a job: %NAME, %QUEUE, %PODS, and %TEMPLATE with metadata and spec of a pod that ends by itself, or
// %SERVER with that of a pod that does not. %CONTAINER in them is the name of the container.
type maker struct {
	random
	container string
}

const ignore = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}"

var makers = []maker{
	{random{kind: "JobSet", name: "js", resource: resourceOf("jobset.x-k8s.io", "v1alpha2", "jobsets"), condition: "Completed", text: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: %NAME}
spec: {failurePolicy: {maxRestarts: 50}, replicatedJobs: [{name: w, replicas: %PODS, template: {spec: {backoffLimit: 0, ` + ignore + `, template: %TEMPLATE}}}]}`}, "main"},
	{random{kind: "Indexed Job", name: "ix", resource: resourceOf("batch", "v1", "jobs"), condition: "Complete", text: `
apiVersion: batch/v1
kind: Job
metadata: {name: %NAME}
spec: {completionMode: Indexed, parallelism: %PODS, completions: %PODS, backoffLimitPerIndex: 50, ` + ignore + `, template: %TEMPLATE}`}, "main"},
	{random{kind: "Volcano Job", name: "vj", resource: resourceOf("batch.volcano.sh", "v1alpha1", "jobs"), condition: "Completed", text: `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %NAME}
spec: {schedulerName: volcano, queue: %QUEUE, minAvailable: %PODS, policies: [{event: TaskCompleted, action: CompleteJob}], tasks: [{name: w, replicas: %PODS, template: %TEMPLATE}]}`}, "main"},
	{random{kind: "MPIJob", name: "mpi", resource: resourceOf("kubeflow.org", "v2beta1", "mpijobs"), condition: "Succeeded", text: `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: %NAME}
spec: {runPolicy: {cleanPodPolicy: Running, backoffLimit: 50, schedulingPolicy: {queue: %QUEUE}}, mpiReplicaSpecs: {Launcher: {replicas: 1, template: %LAUNCHER}, Worker: {replicas: %PODS, template: %SERVER}}}`}, "main"},
	{random{kind: "PyTorchJob", name: "pt", resource: resourceOf("kubeflow.org", "v1", "pytorchjobs"), condition: "Succeeded", text: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: %NAME}
spec: {runPolicy: {cleanPodPolicy: Running, schedulingPolicy: {queue: %QUEUE}}, pytorchReplicaSpecs: {Master: {replicas: 1, restartPolicy: OnFailure, template: %TEMPLATE}, Worker: {replicas: %PODS, restartPolicy: OnFailure, template: %SERVER}}}`}, "pytorch"},
	{random{kind: "JAXJob", name: "jax", resource: resourceOf("kubeflow.org", "v1", "jaxjobs"), condition: "Succeeded", text: `
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: %NAME}
spec: {runPolicy: {cleanPodPolicy: Running, schedulingPolicy: {queue: %QUEUE}}, jaxReplicaSpecs: {Worker: {replicas: %PODS, restartPolicy: OnFailure, template: %TEMPLATE}}}`}, "jax"},
	{random{kind: "PaddleJob", name: "pd", resource: resourceOf("kubeflow.org", "v1", "paddlejobs"), condition: "Succeeded", text: `
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: %NAME}
spec: {runPolicy: {cleanPodPolicy: Running, schedulingPolicy: {queue: %QUEUE}}, paddleReplicaSpecs: {Worker: {replicas: %PODS, restartPolicy: OnFailure, template: %TEMPLATE}}}`}, "paddle"},
	{random{kind: "TFJob", name: "tf", resource: resourceOf("kubeflow.org", "v1", "tfjobs"), condition: "Succeeded", text: `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: %NAME}
spec: {enableDynamicWorker: true, runPolicy: {cleanPodPolicy: Running, schedulingPolicy: {queue: %QUEUE}}, tfReplicaSpecs: {Worker: {replicas: %PODS, restartPolicy: OnFailure, template: %TEMPLATE}}}`}, "tensorflow"},
	{random{kind: "TrainJob", name: "tj", resource: resourceOf("trainer.kubeflow.org", "v1alpha1", "trainjobs"), condition: "Complete", text: `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: %NAME, labels: {trainer.kubeflow.org/framework: torch}}
spec: {mlPolicy: {numNodes: %PODS, torch: {numProcPerNode: 1}}, podGroupPolicy: {volcano: {}}, template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: %QUEUE}}, spec: {failurePolicy: {maxRestarts: 50}, replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {backoffLimitPerIndex: 0, maxFailedIndexes: 0, ` + ignore + `, template: %TEMPLATE}}}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: %NAME}
spec: {runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: %NAME}, trainer: {numNodes: %PODS}}`}, "node"},
	{random{kind: "RayCluster", name: "ray", resource: resourceOf("ray.io", "v1", "rayclusters"), group: "ray-%NAME-pg", groups: 1, text: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: %NAME, labels: {volcano.sh/queue-name: %QUEUE}}
spec: {rayVersion: 2.52.0, headGroupSpec: {rayStartParams: {}, template: %HEAD}, workerGroupSpecs: [{groupName: gpu, replicas: %PODS, minReplicas: %PODS, maxReplicas: %PODS, rayStartParams: {}, template: %SERVER}]}`}, "main"},
	{random{kind: "LeaderWorkerSet", name: "lws", resource: resourceOf("leaderworkerset.x-k8s.io", "v1", "leaderworkersets"), group: "%NAME-", groups: 1, text: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: %NAME, annotations: {scheduling.volcano.sh/queue-name: %QUEUE}}
spec: {replicas: 1, leaderWorkerTemplate: {size: %PODS, workerTemplate: %SERVER}}`}, "main"},
	{random{kind: "StatefulSet", name: "st", resource: resourceOf("apps", "v1", "statefulsets"), groups: 1, text: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %NAME}
spec: {serviceName: none, replicas: %PODS, podManagementPolicy: Parallel, selector: {matchLabels: {app: %NAME}}, template: %GROUP}`}, "main"},
}

// randomJob is the job with that number.
func randomJob(dice *rand.Rand, number int) random {
	of := makers[number%len(makers)]
	one := of.random
	one.name = fmt.Sprintf("%s-%d", one.name, number)
	pods, queue, gpus := 1+dice.IntN(4), []string{"research", "production"}[dice.IntN(2)], []int{1, 2, 4, 8}[dice.IntN(4)]
	if of.kind == "PyTorchJob" {
		pods = min(pods, 3) // and a master: the cluster has room for four pods of eight GPUs
	}
	if of.kind == "LeaderWorkerSet" || of.kind == "StatefulSet" {
		pods = max(pods, 2)
	}
	run := fmt.Sprintf("lab.tephra.sh/run-for: %dms, ", 500+dice.IntN(3000))
	template := func(gpus int, labels, more, restart string) string {
		limits := "cpu: 1"
		if gpus > 0 {
			limits += fmt.Sprintf(", nvidia.com/gpu: %d", gpus)
		}
		return fmt.Sprintf("{metadata: {%sannotations: {%sscheduling.volcano.sh/queue-name: %s}}, spec: {schedulerName: volcano, %sterminationGracePeriodSeconds: 0, containers: [{name: %s, image: none, resources: {limits: {%s}, requests: {cpu: 1}}}]}}",
			labels, more, queue, restart, of.container, limits)
	}
	const never = "restartPolicy: Never, "
	fill := strings.NewReplacer("%TEMPLATE", template(gpus, "", run, never), "%LAUNCHER", template(0, "", run, never), "%HEAD", template(0, "", "", ""),
		"%SERVER", template(gpus, "", "", ""),
		"%GROUP", template(gpus, "labels: {app: "+one.name+"}, ", fmt.Sprintf("scheduling.volcano.sh/group-min-member: '%d', ", pods), ""),
		"%NAME", one.name, "%QUEUE", queue, "%PODS", fmt.Sprint(pods))
	one.text, one.group = fill.Replace(strings.TrimSpace(one.text)), fill.Replace(one.group)
	return one
}
