package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

// partitioned is the group as Volcano's controller makes it for a task "worker" with a partitionPolicy.
func partitioned(size, least int32, changes ...func(*schedulingv1beta1.PodGroup)) func(*schedulingv1beta1.PodGroup) {
	return func(g *schedulingv1beta1.PodGroup) {
		tier := 1
		g.Spec.SubGroupPolicy = []schedulingv1beta1.SubGroupPolicySpec{{Name: "worker", SubGroupSize: &size, MinSubGroups: &least,
			LabelSelector:   &metav1.LabelSelector{MatchLabels: map[string]string{batchv1alpha1.TaskSpecKey: "worker"}},
			MatchLabelKeys:  []string{batchv1alpha1.TaskPartitionID},
			NetworkTopology: &schedulingv1beta1.NetworkTopologySpec{Mode: "hard", HighestTierAllowed: &tier}}}
		for _, change := range changes {
			change(g)
		}
	}
}

func workers(total, size int32) batchv1alpha1.TaskSpec {
	task := taskSpec("worker", total*size, container("main", "nvidia.com/gpu", "1"))
	task.PartitionPolicy = &batchv1alpha1.PartitionPolicySpec{TotalPartitions: total, PartitionSize: size}
	return task
}

func worker(group string, index, size int) *corev1.Pod {
	return somePod(fmt.Sprintf("train-worker-%d", index), group, func(p *corev1.Pod) {
		p.Labels = map[string]string{batchv1alpha1.TaskPartitionID: strconv.Itoa(index / size), batchv1alpha1.TaskSpecKey: "worker"}
		p.Annotations[batchv1alpha1.TaskSpecKey] = "worker"
		p.Annotations[batchv1alpha1.TaskIndex] = strconv.Itoa(index)
	})
}

// inALine is the gang in a line: its minimum, roles as NAME=REPLICAS@GROUP, groups as NAME>=MINIMUM, those in brackets
// that it starts without.
func inALine(gang *tephrav1.Gang) string {
	parts := []string{strconv.Itoa(int(gang.GetMinMember()))}
	for _, role := range gang.GetRoles() {
		text := fmt.Sprintf("%s=%d", role.GetName(), role.GetReplicas())
		if role.GetGroup() != "" {
			text += "@" + role.GetGroup()
		}
		parts = append(parts, text)
	}
	for _, group := range gang.GetGroups() {
		text := fmt.Sprintf("%s>=%d", group.GetName(), group.GetMinMember())
		if group.GetElastic() {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestPartitionsOfATaskAreSubGroupsBeforeAndAfterItsPodsAreMade(t *testing.T) {
	for _, test := range []struct {
		name       string
		least, min int32
		tasks      []batchv1alpha1.TaskSpec
		before     string
	}{
		{"as many as the policy says", 2, 4, []batchv1alpha1.TaskSpec{workers(3, 2)},
			"4 worker/0=2@worker/0 worker/1=2@worker/1 worker/2=2@worker/2 worker/0>=2 worker/1>=2 (worker/2>=2)"},
		{"as many as the gang's minimum takes", 0, 5, []batchv1alpha1.TaskSpec{workers(3, 2)},
			"5 worker/0=2@worker/0 worker/1=2@worker/1 worker/2=2@worker/2 worker/0>=2 worker/1>=2 worker/2>=2"},
		{"beside a task of no sub-group", 1, 3, []batchv1alpha1.TaskSpec{taskSpec("master", 1, container("main", "cpu", "1")), workers(2, 2)},
			"3 master=1 worker/0=2@worker/0 worker/1=2@worker/1 worker/0>=2 (worker/1>=2)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			feed := idleFeed(t, Options{Admit: true})
			job := someJob("train", test.tasks...)
			feed.setJob(job)
			feed.setGroup(someGroup("g", test.min, ownedBy(job), partitioned(2, test.least)))
			gang := wholeModel(t, feed).jobs["group-g"].GetGang()
			if got := inALine(gang); got != test.before {
				t.Errorf("reported\n %s, expected\n %s", got, test.before)
			}
			for _, group := range gang.GetGroups() {
				if near := group.GetLocality(); near.GetMode() != tephrav1.LocalityMode_LOCALITY_MODE_REQUIRED || near.GetHighestTier() != 1 {
					t.Errorf("group %s: locality %v", group.GetName(), near)
				}
			}
			pods := 0
			for _, task := range test.tasks {
				for i := range int(task.Replicas) {
					if pods++; task.Name == "worker" {
						feed.setPod(worker("g", i, 2))
					} else {
						feed.setPod(somePod("train-"+task.Name, "g", func(p *corev1.Pod) { p.Annotations[batchv1alpha1.TaskSpecKey] = task.Name }))
					}
				}
			}
			m := wholeModel(t, feed)
			if got := inALine(m.jobs["group-g"].GetGang()); got != test.before {
				t.Errorf("with its pods reported\n %s, expected\n %s", got, test.before)
			}
			for i := range 4 {
				fact := m.tasks[fmt.Sprintf("pod-train-worker-%d", i)]
				if fact.GetRole() != fmt.Sprintf("worker/%d", i/2) || fact.GetIndex() != int32(i%2) {
					t.Errorf("worker %d: task %d of role %s", i, fact.GetIndex(), fact.GetRole())
				}
			}
			if len(m.tasks) != pods {
				t.Errorf("%d tasks, expected %d", len(m.tasks), pods)
			}
		})
	}
}

func TestPodsOfOneSubGroupMayBeOfSeveralTasks(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	size, least := int32(2), int32(1)
	feed.setGroup(someGroup("g", 2, func(g *schedulingv1beta1.PodGroup) {
		g.Spec.SubGroupPolicy = []schedulingv1beta1.SubGroupPolicySpec{{Name: "set", SubGroupSize: &size, MinSubGroups: &least, MatchLabelKeys: []string{"set"}}}
	}))
	for i, set := range []string{"10", "10", "9", "9", ""} {
		feed.setPod(somePod(fmt.Sprintf("p%d", i), "g", func(p *corev1.Pod) {
			p.Labels = map[string]string{"set": set}
			p.Annotations[batchv1alpha1.TaskSpecKey] = []string{"leader", "worker"}[i%2]
		}))
	}
	gang := wholeModel(t, feed).jobs["group-g"].GetGang()
	const want = "2 leader=1 set/9/leader=1@set/9 set/10/leader=1@set/10 set/9/worker=1@set/9 set/10/worker=1@set/10 set/9>=2 (set/10>=2)"
	if got := inALine(gang); got != want {
		t.Errorf("reported\n %s, expected\n %s", got, want)
	}
}

func TestWhatIsWrongWithASubGroupPolicyIsReportedWithItsPlace(t *testing.T) {
	below, tier := int32(-1), -1
	for want, policies := range map[string][]schedulingv1beta1.SubGroupPolicySpec{
		`spec.subGroupPolicy[1].name: "a", expected a name that no other`:           {{Name: "a"}, {Name: "a"}},
		`spec.subGroupPolicy[0].minSubGroups: -1, expected at least 0`:              {{MinSubGroups: &below}},
		`spec.subGroupPolicy[0].labelSelector: "Near" is not a valid`:               {{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}},
		`spec.subGroupPolicy[0].networkTopology.highestTierAllowed: -1, expected 0`: {{NetworkTopology: &schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &tier}}},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { g.Spec.SubGroupPolicy = policies }))
		feed.setPod(somePod("p", "g"))
		if m := wholeModel(t, feed); len(m.jobs) > 0 {
			t.Errorf("%s: reported %v", want, m.jobs)
		}
		problems := feed.Problems()
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Error(), want) }) {
			t.Errorf("problems %v, expected %q", problems, want)
		}
	}
}
