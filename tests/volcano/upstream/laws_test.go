package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// gangOf is a case with a gang of running pods "a", "b" and so on.
func gangOf(pods int, minMember int32) *testCase {
	c := &testCase{}
	group := &schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{MinMember: minMember}}
	group.Namespace, group.Name = "ns", "gang"
	c.Cluster.PodGroups = append(c.Cluster.PodGroups, group)
	for i := range pods {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
		pod.Namespace, pod.Name = "ns", string(rune('a'+i))
		pod.Annotations = map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: "gang"}
		c.Cluster.Pods = append(c.Cluster.Pods, pod)
	}
	return c
}

func TestAGangIsEvictedDownToItsMinimumOrWhole(t *testing.T) {
	for _, test := range []struct {
		evicted []string
		want    []string
	}{
		{nil, nil},
		{[]string{"ns/a"}, nil},
		{[]string{"ns/a", "ns/b"}, []string{"gang ns/gang: 1 of at least 2 are left"}},
		{[]string{"ns/a", "ns/b", "ns/c"}, nil},
	} {
		if got := gangOf(3, 2).broken(&outcome{evicted: test.evicted}); !slices.Equal(got, test.want) {
			t.Errorf("%v: %q, expected %q", test.evicted, got, test.want)
		}
	}
}
