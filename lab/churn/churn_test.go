package churn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func boundPod(name, gang, slices string) *core.Pod {
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
		Annotations: map[string]string{batch.JobNameKey: gang, e2e.SlicesKey: slices}}}
	pod.Spec.NodeName = "node-0"
	return pod
}

func TestAGPUGivenTwiceIsAFault(t *testing.T) {
	const whole = `{"version":1,"containers":[{"name":"main","slices":[{"uuid":"GPU-0","index":0,"mode":"whole","compute":1000,"memoryMiB":80000}]}]}`
	progress := newProgress(NewDevices(80000))
	progress.submitted(Gang{Name: "a", Pods: 1, Least: 1})
	progress.submitted(Gang{Name: "b", Pods: 1, Least: 1})
	for _, name := range []string{"a", "b"} {
		pod := boundPod(name+"-0", name, whole)
		pod.Spec.Containers = []core.Container{{Name: "main", Resources: core.ResourceRequirements{
			Limits: core.ResourceList{e2e.GPU: resource.MustParse("1")}}}}
		progress.pod(pod, false)
	}
	if len(progress.faults) != 1 || !strings.Contains(progress.faults[0], "GPU 0 given twice") {
		t.Errorf("faults %q, expected that GPU 0 was given twice", progress.faults)
	}
}

func TestAGangLeftInPartIsAFaultAfterTwoCyclesUnlessADecisionWasMade(t *testing.T) {
	for _, test := range []struct {
		name    string
		pods    int // bound, of two
		ended   int // of those
		decided bool
		err     error
		cycles  []instant
		fault   bool
	}{
		{"no decision for three cycles", 1, 0, false, nil, []instant{{7, 1}, {7, 4}}, true},
		{"two cycles are allowed", 1, 0, false, nil, []instant{{7, 1}, {7, 3}}, false},
		{"a scheduler that starts again has two more", 1, 0, false, nil, []instant{{7, 1}, {8, 4}, {8, 6}}, false},
		{"the engine has decided", 1, 0, true, nil, []instant{{7, 1}, {7, 4}}, false},
		{"no engine answers", 1, 0, false, errors.New("gone"), []instant{{7, 1}, {7, 4}}, false},
		{"all that is bound has ended", 1, 1, false, nil, []instant{{7, 1}, {7, 4}}, false},
		{"the gang is whole", 2, 0, false, nil, []instant{{7, 1}, {7, 4}}, false},
	} {
		progress := newProgress(nil)
		progress.submitted(Gang{Name: "a", Pods: 2, Least: 2})
		for i := range test.pods {
			pod := boundPod("a-"+string(rune('0'+i)), "a", "")
			if i < test.ended {
				pod.Status.Phase = core.PodSucceeded
			}
			progress.pod(pod, false)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		cycles := test.cycles
		u := &undecided{since: map[string]instant{}, faults: map[string]string{},
			cycle: func(context.Context) (instant, error) {
				now := cycles[0]
				if cycles = cycles[1:]; len(cycles) == 0 {
					stop()
				}
				return now, nil
			},
			decided: func(context.Context, Gang) (bool, string, error) { return test.decided, "", test.err },
		}
		if test.pods == 2 || test.ended == test.pods {
			stop()
		}
		u.run(ctx, progress.boundInPart)
		stop()
		if (len(u.faults) == 1) != test.fault {
			t.Errorf("%s: faults %v", test.name, u.faults)
		}
	}
}
