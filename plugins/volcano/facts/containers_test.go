package facts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func TestOnlyAnInitContainerThatAlwaysRestartsIsASidecar(t *testing.T) {
	for policy, want := range map[corev1.ContainerRestartPolicy]tephrav1.ContainerKind{
		corev1.ContainerRestartPolicyAlways: tephrav1.ContainerKind_CONTAINER_KIND_SIDECAR, corev1.ContainerRestartPolicyOnFailure: tephrav1.ContainerKind_CONTAINER_KIND_INIT,
		corev1.ContainerRestartPolicyNever: tephrav1.ContainerKind_CONTAINER_KIND_INIT} {
		pod := somePod("p", "g", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{container("first", "cpu", "1")}
			p.Spec.InitContainers[0].RestartPolicy = &policy
			p.Spec.InitContainers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
			p.Spec.Containers[0].RestartPolicy = &policy // rules for restarts of a container leave it what it is
		})
		feed := idleFeed(t, Options{})
		load, wrong := feed.translator.load(pod, nil, true)
		if wrong != nil {
			t.Fatal(wrong)
		}
		if got := load.Containers[0].Kind; got != want {
			t.Errorf("%s: %s, expected %s", policy, got, want)
		}
		if got := load.Containers[1].Kind; got != tephrav1.ContainerKind_CONTAINER_KIND_APP {
			t.Errorf("%s: the container is %s", policy, got)
		}
		// A sidecar's host port is taken for as long as the pod runs.
		if lasting := want == tephrav1.ContainerKind_CONTAINER_KIND_SIDECAR; lasting != (len(load.Limits) == 1) {
			t.Errorf("%s: limits %v", policy, load.Limits)
		}
	}
}

func TestSlicesThatDifferInTheirInstanceAloneDiffer(t *testing.T) {
	one := &tephrav1.Slice{Mode: tephrav1.SliceMode_SLICE_MODE_MIG, MigProfile: 2, MigStart: 1}
	for _, other := range []*tephrav1.Slice{{Mode: one.Mode, MigProfile: 3, MigStart: 1}, {Mode: one.Mode, MigProfile: 2, MigStart: 4}} {
		if sameSlice(one, other) {
			t.Errorf("%v and %v are the same", one, other)
		}
	}
	if !sameSlice(one, &tephrav1.Slice{Mode: one.Mode, MigProfile: 2, MigStart: 1}) {
		t.Error("equal slices differ")
	}
}

func TestAContainerWithoutANameCanHaveSlices(t *testing.T) {
	feed := idleFeed(t, Options{})
	feed.setNode(someNode("n1", func(n *corev1.Node) {
		n.Annotations = map[string]string{annotations.VGPURegisterKey: "a,1,5,NVIDIA-A100,true,x:b,1,5,NVIDIA-A100,true,x:"}
	}))
	pod := somePod("p", "g", func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{container("", "nvidia.com/gpu", "1"), container("", "nvidia.com/gpu", "1")}
	})
	feed.setPod(pod)
	text, err := feed.SlicesAnnotation("pod-p", "n1", []*tephrav1.Slice{
		{Container: 0, Device: 1, Mode: tephrav1.SliceMode_SLICE_MODE_WHOLE, Compute: 1000},
		{Container: 1, Device: 0, Mode: tephrav1.SliceMode_SLICE_MODE_WHOLE, Compute: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	bound := pod.DeepCopy()
	bound.ResourceVersion, bound.Spec.NodeName = "2", "n1"
	bound.Annotations[annotations.SlicesKey] = text
	feed.setPod(bound)
	got := feed.pods["pod-p"].slices
	if len(got) != 2 || got[0].Container != 0 || got[0].Device != 1 || got[1].Container != 1 || got[1].Device != 0 {
		t.Errorf("%s is read as %v", text, got)
	}
}
