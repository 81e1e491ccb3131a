package facts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// Objects of a small cluster, as the API server would store them.

const ourScheduler = "volcano"

// idleFeed is one whose informers are never started: tests call its handlers.
func idleFeed(t *testing.T, options Options) *Feed {
	t.Helper()
	if options.SchedulerNames == nil {
		options.SchedulerNames = []string{ourScheduler}
	}
	feed, err := New(Sources{
		Kube:    informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0),
		Volcano: vcinformers.NewSharedInformerFactory(vcfake.NewSimpleClientset(), 0),
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	return feed
}

// noKinds are the kinds of a cluster without requests.
func noKinds() *kinds { return &kinds{words: &words{table: requests.Default()}} }

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func someNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name),
			Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: list("cpu", "64", "memory", "256Gi", "pods", "110"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(node)
	}
	return node
}

func container(name string, pairs ...string) corev1.Container {
	return corev1.Container{Name: name,
		Resources: corev1.ResourceRequirements{Requests: list(pairs...), Limits: list(pairs...)}}
}

// somePod is a pod of ours in the group.
func somePod(name, group string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("pod-" + name),
			Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: corev1.PodSpec{SchedulerName: ourScheduler,
			Containers: []corev1.Container{container("main", "cpu", "1", "memory", "1Gi", "nvidia.com/gpu", "1")}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if group != "" {
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = group
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

// task makes the pod one of a Volcano Job's.
func task(role, index string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations[batchv1alpha1.TaskSpecKey] = role
		pod.Annotations[batchv1alpha1.TaskIndex] = index
		pod.Labels[batchv1alpha1.TaskSpecKey] = role
		pod.Labels[batchv1alpha1.TaskIndex] = index
	}
}

func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = node
		pod.Status.Phase = corev1.PodRunning
	}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func going(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

func foreign(pod *corev1.Pod) {
	pod.Spec.SchedulerName = "default-scheduler"
	delete(pod.Annotations, schedulingv1beta1.KubeGroupNameAnnotationKey)
}

func someGroup(name string, members int32, change ...func(*schedulingv1beta1.PodGroup)) *schedulingv1beta1.PodGroup {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("group-" + name)},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: members, Queue: "research"},
		Status:     schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupPending},
	}
	for _, c := range change {
		c(group)
	}
	return group
}

// ownedBy makes the group that of a Volcano Job.
func ownedBy(job *batchv1alpha1.Job) func(*schedulingv1beta1.PodGroup) {
	return func(group *schedulingv1beta1.PodGroup) {
		group.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1",
			Kind: "Job", Name: job.Name, UID: job.UID}}
		group.Spec.MinTaskMember = map[string]int32{}
		for _, task := range job.Spec.Tasks {
			group.Spec.MinTaskMember[task.Name] = task.Replicas
			if task.MinAvailable != nil {
				group.Spec.MinTaskMember[task.Name] = *task.MinAvailable
			}
		}
	}
}

func someJob(name string, tasks ...batchv1alpha1.TaskSpec) *batchv1alpha1.Job {
	job := &batchv1alpha1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("job-" + name)},
		Spec:       batchv1alpha1.JobSpec{SchedulerName: ourScheduler, Queue: "research", Tasks: tasks},
	}
	for _, task := range tasks {
		job.Spec.MinAvailable += task.Replicas
	}
	return job
}

func taskSpec(name string, replicas int32, containers ...corev1.Container) batchv1alpha1.TaskSpec {
	return batchv1alpha1.TaskSpec{Name: name, Replicas: replicas,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: containers}}}
}

func someHyperNode(name string, tier int, members ...topologyv1alpha1.MemberSpec) *topologyv1alpha1.HyperNode {
	return &topologyv1alpha1.HyperNode{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: topologyv1alpha1.HyperNodeSpec{Tier: tier, TierName: "rack", Members: members}}
}

func nodeMember(selector topologyv1alpha1.MemberSelector) topologyv1alpha1.MemberSpec {
	return topologyv1alpha1.MemberSpec{Type: topologyv1alpha1.MemberTypeNode, Selector: selector}
}

func hyperMember(name string) topologyv1alpha1.MemberSpec {
	return topologyv1alpha1.MemberSpec{Type: topologyv1alpha1.MemberTypeHyperNode,
		Selector: topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: name}}}
}

func somePDB(name string, labels map[string]string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
}

// wholeModel is the model of what the feed says of everything.
func wholeModel(t *testing.T, feed *Feed) *model {
	t.Helper()
	m := newModel()
	if err := m.apply(feed.Sync()); err != nil {
		t.Fatal(err)
	}
	return m
}

func amount(kind uint32, amount int64) *tephrav1.Amount {
	return &tephrav1.Amount{Kind: kind, Amount: amount}
}
