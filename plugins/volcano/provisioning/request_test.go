package provisioning

import (
	"slices"
	"testing"

	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	pb "tephra.sh/volcano/tephrav1"
)

func TestAGangStartsWithTheMinimumsOfItsTasksAndMoreUpToItsOwn(t *testing.T) {
	for _, c := range []struct {
		replicas []int32
		tasks    map[string]int32
		least    int32
		want     []int64
	}{
		{[]int32{2, 4}, map[string]int32{"a": 1, "b": 3}, 4, []int64{1, 3}},
		{[]int32{2, 4}, map[string]int32{"a": 1, "b": 1}, 5, []int64{2, 3}},
		{[]int32{2, 4}, nil, 3, []int64{2, 1}},
		{[]int32{2, 4}, map[string]int32{"b": 9}, 4, []int64{0, 4}},
		{[]int32{2, 4}, nil, 9, []int64{2, 4}},
	} {
		job, group := &v1alpha1.Job{}, &v1beta1.PodGroup{}
		for i, replicas := range c.replicas {
			job.Spec.Tasks = append(job.Spec.Tasks, v1alpha1.TaskSpec{Name: string(rune('a' + i)), Replicas: replicas})
		}
		group.Spec.MinTaskMember, group.Spec.MinMember = c.tasks, c.least
		if got := minimum(job, group); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, expected %v", c, got, c.want)
		}
	}
}

func TestNodesAreRequestedOnlyIfTheyAloneAreEnough(t *testing.T) {
	nodes := &pb.Change{Easing: pb.Easing_EASING_NODES, Amount: 3, Nodes: []string{"a"}}
	limit := &pb.Change{Easing: pb.Easing_EASING_LIMIT}
	for name, c := range map[string]struct {
		reply *pb.ExplainReply
		want  int64
	}{
		"alone":        {&pb.ExplainReply{Relaxations: []*pb.Relaxation{{Changes: []*pb.Change{limit}}, {Changes: []*pb.Change{nodes}}}}, 3},
		"with a limit": {&pb.ExplainReply{Relaxations: []*pb.Relaxation{{Changes: []*pb.Change{nodes, limit}}}}, 0},
		"it fits":      {&pb.ExplainReply{FitsNow: true, Relaxations: []*pb.Relaxation{{Changes: []*pb.Change{nodes}}}}, 0},
		"nothing":      {&pb.ExplainReply{}, 0},
	} {
		if got, _ := moreNodes(c.reply); got != c.want {
			t.Errorf("%s: %d nodes, expected %d", name, got, c.want)
		}
	}
}
