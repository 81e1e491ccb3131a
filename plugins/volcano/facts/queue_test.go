package facts

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

func TestAQueuesGuaranteesAreReportedInTheEnginesUnits(t *testing.T) {
	no := false
	got, wrong := translateQueue(&schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: schedulingv1beta1.QueueSpec{Reclaimable: &no, DequeueStrategy: schedulingv1beta1.DequeueStrategyFIFO,
			Guarantee: schedulingv1beta1.Guarantee{Resource: list("cpu", "2", "nvidia.com/gpu", "0")},
			Deserved:  list("nvidia.com/gpu", "3", "volcano.sh/vgpu-cores", "450", "volcano.sh/vgpu-memory", "7", "example.com/ib", "2")},
	}, noKinds())
	if wrong != nil {
		t.Fatal(wrong)
	}
	expect(t, "the guarantees", got, &tephrav1.Queue{}, `name: "team" parent: "root" weight: 1 state: QUEUE_STATE_OPEN
		not_reclaimable: true fifo: true guarantee { kind: 0 amount: 2000 }
		deserved { kind: 3 amount: 4500 } deserved { kind: 4 amount: 7 } deserved { kind: 5 amount: 2 }`)
	for _, test := range []struct {
		spec schedulingv1beta1.QueueSpec
		want string
	}{
		{schedulingv1beta1.QueueSpec{Guarantee: schedulingv1beta1.Guarantee{Resource: list("cpu", "-1")}}, "spec.guarantee.resource.cpu"},
		{schedulingv1beta1.QueueSpec{Deserved: list("memory", "-1")}, "spec.deserved.memory"},
	} {
		if _, wrong := translateQueue(&schedulingv1beta1.Queue{Spec: test.spec}, noKinds()); wrong == nil || wrong.field != test.want {
			t.Errorf("got %v, expected a fault of %s", wrong, test.want)
		}
	}
}

func TestAQueueSaysHowLongItsJobsWaitBeforeTheyEvict(t *testing.T) {
	with := func(text string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team",
			Annotations: map[string]string{"tephra.sh/eviction-delay": text}}}
	}
	for text, want := range map[string]int64{"10m": 600_000, "0s": 0, "300000h": 864_000_000_000} {
		if got, wrong := evictionDelay(with(text)); wrong != nil || got != want {
			t.Errorf("%s: got %d and fault %v, expected %d ms", text, got, wrong, want)
		}
	}
	for _, text := range []string{"", "10", "-1m", "soon"} {
		got, wrong := evictionDelay(with(text))
		if wrong == nil || got != 0 || wrong.field != "metadata.annotations[tephra.sh/eviction-delay]" {
			t.Errorf("%q: got %d and fault %v, expected a fault of the annotation", text, got, wrong)
		}
	}
}

func TestAQueuesGPUsOfOneModelAreAKindOfTheirOwn(t *testing.T) {
	known := noKinds()
	got, wrong := translateQueue(&schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: schedulingv1beta1.QueueSpec{
			Capability: list("nvidia.com/gpu.A100", "16", "nvidia.com/gpu.shared", "3"),
			Guarantee:  schedulingv1beta1.Guarantee{Resource: list("nvidia.com/gpu.A100", "8")},
			Deserved:   list("nvidia.com/gpu.H100", "64", "nvidia.com/gpu.A100", "16", "nvidia.com/gpu", "90")},
	}, known)
	if wrong != nil {
		t.Fatal(wrong)
	}
	expect(t, "the quotas", got, &tephrav1.Queue{}, `name: "team" parent: "root" weight: 1 state: QUEUE_STATE_OPEN
		limit { kind: 5 amount: 16000 } limit { kind: 6 amount: 3 } limited_kinds: [5, 6]
		guarantee { kind: 5 amount: 8000 }
		deserved { kind: 3 amount: 90000 } deserved { kind: 5 amount: 16000 } deserved { kind: 7 amount: 64000 }`)
	if want := []string{"gpu.A100", "nvidia.com/gpu.shared", "gpu.H100"}; !slices.Equal(known.names, want) {
		t.Errorf("the kinds are %v, expected %v", known.names, want)
	}
	// What a pod asks for under such a name is an extended resource as any other, and no GPU of ours.
	amounts, wrong := known.amounts(list("nvidia.com/gpu.H100", "2"), true)
	if wrong != nil || len(amounts) != 1 || amounts[0].Kind != 8 || amounts[0].Amount != 2 {
		t.Errorf("a pod that asks for nvidia.com/gpu.H100: got %v, %v", amounts, wrong)
	}
	_, wrong = translateQueue(&schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{Deserved: list("nvidia.com/gpu.H100", "-1")}}, known)
	if wrong == nil || wrong.field != "spec.deserved.nvidia.com/gpu.H100" {
		t.Errorf("a guarantee below zero: got %v", wrong)
	}
}

func TestAQueuesCapabilityIsTheEnginesLimit(t *testing.T) {
	got, wrong := translateQueue(&schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: "research"},
		Spec: schedulingv1beta1.QueueSpec{Weight: 3, Priority: 2, Parent: "labs", Capability: list(
			"cpu", "10", "memory", "1Ki", "nvidia.com/gpu", "4", "volcano.sh/vgpu-cores", "250",
			"volcano.sh/vgpu-memory", "8000", "volcano.sh/vgpu-number", "10", "example.com/fpga", "0")},
		Status: schedulingv1beta1.QueueStatus{State: schedulingv1beta1.QueueStateClosing},
	}, noKinds())
	if wrong != nil {
		t.Fatal(wrong)
	}
	expect(t, "a queue", got, &tephrav1.Queue{}, `name: "research" parent: "labs" weight: 3 priority: 2
		limit { kind: 0 amount: 10000 } limit { kind: 1 amount: 1024 } limit { kind: 3 amount: 2500 }
		limit { kind: 4 amount: 8000 } limited_kinds: [0, 1, 3, 4, 5] state: QUEUE_STATE_CLOSING`)

	got, _ = translateQueue(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, noKinds())
	expect(t, "a queue that says nothing", got, &tephrav1.Queue{},
		`name: "new" parent: "root" weight: 1 state: QUEUE_STATE_OPEN`)

	_, wrong = translateQueue(&schedulingv1beta1.Queue{Spec: schedulingv1beta1.QueueSpec{Capability: list("cpu", "-1")}}, noKinds())
	if wrong == nil || wrong.field != "spec.capability.cpu" {
		t.Errorf("a limit below zero: got %v", wrong)
	}
}
