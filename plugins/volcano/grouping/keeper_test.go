package grouping

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
)

// kept is a Keeper that runs until the end of the test, and the API server that it sees.
type kept struct {
	*testing.T
	kube    kubernetes.Interface
	volcano volcano.Interface
	dynamic dynamic.Interface
	events  *record.FakeRecorder
}

func keep(t *testing.T) *kept {
	k, keeper := standby(t)
	go keeper.Run(t.Context())
	return k
}

// standby is the same with a Keeper that does not run yet.
func standby(t *testing.T) (*kept, *Keeper) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false) // the fakes cannot
	k := &kept{T: t, kube: kubefake.NewSimpleClientset(), volcano: volcanofake.NewSimpleClientset(), events: record.NewFakeRecorder(100)}
	k.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{jobs: "JobList", jobSets: "JobSetList"})
	kube, groups := informers.NewSharedInformerFactory(k.kube, 0), vcinformers.NewSharedInformerFactory(k.volcano, 0)
	keeper, err := New(Options{Ours: func(name string) bool { return name == "volcano" }, Pods: kube.Core().V1().Pods().Informer(),
		Groups: groups.Scheduling().V1beta1().PodGroups().Informer(), Volcano: k.volcano, Dynamic: k.dynamic, Recorder: k.events})
	if err != nil {
		t.Fatal(err)
	}
	kube.Start(t.Context().Done())
	groups.Start(t.Context().Done())
	return k, keeper
}

func (k *kept) owner(resource schema.GroupVersionResource, text string) {
	k.Helper()
	object := &unstructured.Unstructured{Object: objectOf(k.T, text)}
	if _, err := k.dynamic.Resource(resource).Namespace("team").Create(k.Context(), object, metav1.CreateOptions{}); err != nil {
		k.Fatal(err)
	}
}

// pod makes a pod as the webhook leaves it.
func (k *kept) pod(name, metadata string) {
	k.Helper()
	pod := podOf(k.T, metadata)
	pod.Namespace, pod.Name, pod.Spec.SchedulerName = "team", name, "volcano"
	Assign(pod)
	if _, err := k.kube.CoreV1().Pods("team").Create(k.Context(), pod, metav1.CreateOptions{}); err != nil {
		k.Fatal(err)
	}
}

// eventually waits until the group is as it should be; wrong says what is not.
func (k *kept) eventually(name string, wrong func(*v1beta1.PodGroup) string) {
	k.Helper()
	var said string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		group, err := k.volcano.SchedulingV1beta1().PodGroups("team").Get(k.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			group, err = nil, nil
		}
		if err != nil {
			k.Fatal(err)
		}
		if said = wrong(group); said == "" {
			return
		}
	}
	k.Errorf("PodGroup %s: %s", name, said)
}

func hasMin(want int32) func(*v1beta1.PodGroup) string {
	return func(group *v1beta1.PodGroup) string {
		if group == nil || group.Spec.MinMember != want {
			return fmt.Sprintf("%+v, expected a minimum of %d", group, want)
		}
		return ""
	}
}

func isGone(group *v1beta1.PodGroup) string {
	if group != nil {
		return "is there, expected none"
	}
	return ""
}

const ofTheJob = "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u-job, controller: true}]"

func TestAStandbyNotesNothingAndMakesWhatIsMissingOnceItLeads(t *testing.T) {
	k, keeper := standby(t)
	k.owner(jobs, "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: j, uid: u-job}, spec: {parallelism: 4, completions: 4}}")
	k.pod("j-0", "{annotations: {batch.kubernetes.io/job-completion-index: '0'}, "+ofTheJob+"}")
	for deadline := time.Now().Add(10 * time.Second); len(keeper.Pods.GetStore().List()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the informer does not have the pod")
		}
	}
	time.Sleep(50 * time.Millisecond) // the handlers come after the store
	if noted := keeper.queue.Len(); noted != 0 {
		t.Errorf("the standby noted %d groups, expected none", noted)
	}
	go keeper.Run(t.Context())
	k.eventually("podgroup-u-job", hasMin(4))
}

func TestTheGroupOfAJobSetIsMadeFromTheJobSetAndThePods(t *testing.T) {
	k := keep(t)
	const of = "{labels: {jobset.sigs.k8s.io/jobset-name: s, jobset.sigs.k8s.io/jobset-uid: u-set, jobset.sigs.k8s.io/replicatedjob-name: w}, " +
		"annotations: {scheduling.volcano.sh/queue-name: research, tephra.sh/expected-runtime: 4h, lab.tephra.sh/run-for: 1s}, " + ofTheJob + "}"
	k.pod("s-w-0", of) // before its JobSet is known
	k.owner(jobSets, "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {namespace: team, name: s, uid: u-set}, spec: {replicatedJobs: [{name: w, replicas: 3, template: {spec: {}}}]}}")
	k.eventually("podgroup-u-set", func(group *v1beta1.PodGroup) string {
		switch {
		case group == nil:
			return "is not there"
		case group.Spec.MinMember != 3 || !maps.Equal(group.Spec.MinTaskMember, map[string]int32{"w": 3}) || group.Spec.Queue != "research":
			return fmt.Sprintf("%+v", group.Spec)
		case !maps.Equal(group.Annotations, map[string]string{"tephra.sh/expected-runtime": "4h"}):
			return fmt.Sprintf("annotations %v", group.Annotations)
		case len(group.OwnerReferences) != 1 || group.OwnerReferences[0].Kind != "JobSet" || group.OwnerReferences[0].Name != "s":
			return fmt.Sprintf("owners %+v", group.OwnerReferences)
		}
		return ""
	})
}

func TestAGroupFollowsTheSizeOfItsJobAndGoesWhileTheJobIsSuspended(t *testing.T) {
	k := keep(t)
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: j, uid: u-job}, spec: {suspend: %t, parallelism: %d, completions: %d}}"
	k.owner(jobs, fmt.Sprintf(job, false, 4, 4))
	k.pod("j-0", "{annotations: {batch.kubernetes.io/job-completion-index: '0'}, "+ofTheJob+"}")
	k.eventually("podgroup-u-job", hasMin(4))
	change := func(suspend bool, pods int) {
		object := &unstructured.Unstructured{Object: objectOf(t, fmt.Sprintf(job, suspend, pods, pods))}
		if _, err := k.dynamic.Resource(jobs).Namespace("team").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change(false, 2)
	k.eventually("podgroup-u-job", hasMin(2))
	change(true, 2)
	if err := k.kube.CoreV1().Pods("team").Delete(t.Context(), "j-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.eventually("podgroup-u-job", isGone)
	change(false, 2)
	k.pod("j-1", "{annotations: {batch.kubernetes.io/job-completion-index: '0'}, "+ofTheJob+"}")
	k.eventually("podgroup-u-job", hasMin(2))
}

func TestAStatedMinimumCountsForPodsOfAnyOwner(t *testing.T) {
	k := keep(t)
	k.pod("a", "{annotations: {scheduling.volcano.sh/group-min-member: '5'}, ownerReferences: [{apiVersion: example.org/v1, kind: Farm, name: f, uid: u-farm, controller: true}]}")
	k.eventually("podgroup-u-farm", hasMin(5))
	k.pod("b", "{annotations: {scheduling.k8s.io/group-name: dask, scheduling.volcano.sh/group-min-member: '3'}}")
	k.eventually("dask", hasMin(3))
	k.pod("c", "{annotations: {scheduling.volcano.sh/group-min-member: many}, ownerReferences: [{apiVersion: example.org/v1, kind: Farm, name: f, uid: u-other, controller: true}]}")
	k.eventually("podgroup-u-other", hasMin(1))
	select {
	case event := <-k.events.Events:
		if want := `Warning PodGroupMinimum metadata.annotations[scheduling.volcano.sh/group-min-member]: "many", expected a whole number from 1 to 1048576; the annotation is ignored`; event != want {
			t.Errorf("event %q, expected %q", event, want)
		}
	case <-time.After(time.Second):
		t.Error("no event about a minimum that is no number")
	}
}

func TestGroupsOfOthersGetWhatTheyLackOfTheirPodsAndNoMore(t *testing.T) {
	k := keep(t)
	priority := int32(7)
	for name, owner := range map[string]metav1.OwnerReference{
		"mpi":     {APIVersion: "kubeflow.org/v2beta1", Kind: "MPIJob", Name: "mpi"},
		"lws":     {APIVersion: "v1", Kind: "Pod", Name: "lws-0"},
		"volcano": {APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "volcano"},
	} {
		owner.UID, owner.Controller = "u", new(bool)
		*owner.Controller = true
		group := &v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, OwnerReferences: []metav1.OwnerReference{owner},
			Annotations: map[string]string{"tephra.sh/checkpoint-interval": "1m"}}, Spec: v1beta1.PodGroupSpec{MinMember: 2}}
		if _, err := k.volcano.SchedulingV1beta1().PodGroups("team").Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod := podOf(t, "{annotations: {scheduling.k8s.io/group-name: "+name+", tephra.sh/checkpoint-interval: 9m, volcano.sh/network-topology-mode: hard}}")
		pod.Namespace, pod.Name, pod.Spec.SchedulerName, pod.Spec.PriorityClassName, pod.Spec.Priority = "team", name+"-0", "volcano", "high", &priority
		if _, err := k.kube.CoreV1().Pods("team").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, class string, annotations map[string]string) {
		k.eventually(name, func(group *v1beta1.PodGroup) string {
			if !maps.Equal(group.Annotations, annotations) || group.Spec.PriorityClassName != class || group.Spec.MinMember != 2 {
				return fmt.Sprintf("annotations %v, spec %+v", group.Annotations, group.Spec)
			}
			return ""
		})
	}
	completed := map[string]string{"tephra.sh/checkpoint-interval": "1m", "volcano.sh/network-topology-mode": "hard"}
	check("mpi", "", completed)
	check("lws", "high", completed)
	check("volcano", "", map[string]string{"tephra.sh/checkpoint-interval": "1m"})
}

func TestPodsWhoseGroupAnotherProgramMakesAreLeftAlone(t *testing.T) {
	k := keep(t)
	k.pod("ray-head", "{annotations: {scheduling.k8s.io/group-name: ray-tune-pg}}")
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "else", Annotations: map[string]string{GroupKey: "x", MinMemberKey: "2"}}}
	other.Spec.SchedulerName = "default-scheduler"
	if _, err := k.kube.CoreV1().Pods("team").Create(context.Background(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k.pod("last", "{annotations: {scheduling.k8s.io/group-name: last, scheduling.volcano.sh/group-min-member: '1'}}")
	k.eventually("last", hasMin(1)) // the others came first
	k.eventually("ray-tune-pg", isGone)
	k.eventually("x", isGone)
}
