package facts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// problemsOf are all that stand after a full sync, in a line each.
func problemsOf(f *Feed) string {
	f.Sync()
	var out []string
	for _, problem := range f.Problems() {
		out = append(out, problem.Error())
	}
	return strings.Join(out, "\n")
}

// partitionedJob is a feed with a Job of one task "worker" in partitions, and the group that Volcano's
// controller makes for it.
func partitionedJob(t *testing.T, replicas, size int32) *Feed {
	t.Helper()
	feed := idleFeed(t, Options{Admit: true})
	task := taskSpec("worker", replicas, container("main", "nvidia.com/gpu", "1"))
	task.PartitionPolicy = &batchv1alpha1.PartitionPolicySpec{TotalPartitions: replicas, PartitionSize: size}
	job := someJob("train", task)
	feed.setJob(job)
	feed.setGroup(someGroup("g", 1, ownedBy(job), partitioned(size, 1)))
	return feed
}

func TestAJobWithTooManyPodsOrPartitionsIsAProblemBeforeItIsEnumerated(t *testing.T) {
	for _, test := range []struct {
		replicas, size int32
		want           string
	}{
		{2000000000, 1, `Job "team/train": spec.tasks[0].replicas: 2000000000 pods in the Job up to this task, expected at most 65536 pods in a Job`},
		{60000, 1, `Job "team/train": spec.tasks[0].partitionPolicy: 60000 partitions in the Job up to this task, expected at most 8192 tasks and partitions in a Job; a larger partitionSize makes fewer`},
		{65536, 8, ""},
		{8192, 1, ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		feed := partitionedJob(t, test.replicas, test.size)
		got := problemsOf(feed)
		runtime.ReadMemStats(&after)
		if got != test.want {
			t.Errorf("%d by %d: %q, expected %q", test.replicas, test.size, got, test.want)
		}
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 256 {
			t.Errorf("%d by %d: %d MiB allocated in %s, expected at most 256", test.replicas, test.size, grown, time.Since(began))
		}
		reported := wholeModel(t, feed).jobs["group-g"] != nil
		if reported != (test.want == "") {
			t.Errorf("%d by %d: the engine learns of the job: %v", test.replicas, test.size, reported)
		}
	}
}

func TestPodTemplatesOfAllPartitionsAreBoundedTogether(t *testing.T) {
	feed := partitionedJob(t, 8192, 1)
	job := feed.jobs["team/train"].DeepCopy()
	job.Generation = 2
	values := make([]string, 1000)
	for i := range values {
		values[i] = fmt.Sprintf("v%060d", i)
	}
	job.Spec.Tasks[0].Template.Spec.Affinity = nodeAffinity(values)
	feed.setJob(job)
	got := problemsOf(feed)
	if !strings.Contains(got, `PodGroup "team/g": roles: 8192 roles with`) || !strings.Contains(got, "at most 16777216 bytes") {
		t.Errorf("got %q", got)
	}
}

func nodeAffinity(values []string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "k", Operator: corev1.NodeSelectorOpIn, Values: values}}}}}}}
}

func TestSubGroupPoliciesAreBounded(t *testing.T) {
	for want, change := range map[string]func(*schedulingv1beta1.PodGroup){
		"spec.subGroupPolicy: 65 policies, expected at most 64": func(g *schedulingv1beta1.PodGroup) {
			for i := range 65 {
				g.Spec.SubGroupPolicy = append(g.Spec.SubGroupPolicy, schedulingv1beta1.SubGroupPolicySpec{Name: fmt.Sprint(i)})
			}
		},
		"spec.subGroupPolicy[0].matchLabelKeys: 9 keys, expected at most 8": func(g *schedulingv1beta1.PodGroup) {
			g.Spec.SubGroupPolicy = []schedulingv1beta1.SubGroupPolicySpec{{MatchLabelKeys: strings.Split("abcdefghi", "")}}
		},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, change))
		if got := problemsOf(feed); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

func TestALongValueIsCutInAProblem(t *testing.T) {
	wrong := &fault{"field", strings.Repeat("x", 100000), "something else"}
	if text := wrong.of(Object{Kind: "Pod", Name: "p"}, "").Error(); len(text) > 1000 || !strings.Contains(text, "(100000 bytes)") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
}
