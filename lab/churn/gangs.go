package churn

import (
	"fmt"
	"math/rand/v2"
	"time"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const namespace = "default"

// Gang is one Volcano Job: pods of one shape, of which at least Least start together.
type Gang struct {
	Name        string
	Queue       string
	Pods, Least int32
	Asks        map[core.ResourceName]string // each pod
	RunFor      time.Duration                // each pod; 0: until it is deleted
}

// shapes are what a pod may ask for: whole devices, and fractions of one.
var shapes = []map[core.ResourceName]string{
	{e2e.GPU: "1"},
	{e2e.GPU: "2"},
	{e2e.GPU: "4"},
	{e2e.GPU: "8"},
	{e2e.VGPUNumber: "1", e2e.VGPUMemory: "20000", e2e.VGPUCores: "25"},
	{e2e.VGPUNumber: "1", e2e.VGPUMemory: "30000", e2e.VGPUCores: "60"},
}

// randomGang has at most mostPods pods. One in five may start with half of them.
func randomGang(random *rand.Rand, number int, mostPods int32) Gang {
	gang := Gang{
		Name:   fmt.Sprintf("gang-%04d", number),
		Queue:  []string{"research", "production"}[random.IntN(2)],
		Pods:   1 + random.Int32N(mostPods),
		Asks:   shapes[random.IntN(len(shapes))],
		RunFor: time.Duration(500+random.IntN(2000)) * time.Millisecond,
	}
	gang.Least = gang.Pods
	if random.IntN(5) == 0 {
		gang.Least = (gang.Pods + 1) / 2
	}
	return gang
}

// Job is the object that a user would submit.
func (g Gang) Job() *batch.Job {
	amounts := map[core.ResourceName]string{core.ResourceCPU: "1", core.ResourceMemory: "1Gi"}
	for name, amount := range g.Asks {
		amounts[name] = amount
	}
	changes := []e2e.Change{e2e.Limits(amounts)}
	if g.RunFor > 0 {
		changes = append(changes, e2e.RunFor(g.RunFor.String()))
	}
	return e2e.Job(namespace, g.Name).Queue(g.Queue).Task("worker", g.Pods, changes...).AtLeast(g.Least).Object()
}
