package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/action"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
)

// restartScale is the cluster that a scheduler comes up in.
type restartScale struct {
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
}

// restarted says how long a scheduler took to be of use again.
type restarted struct {
	restartScale
	Sync      time.Duration `json:"sync"`      // from the informers' start until the caches had synced
	FirstPlan time.Duration `json:"firstPlan"` // from then until the first plan was carried out
	Engine    time.Duration `json:"engine"`    // of that, facts out and plan in
	EngineMiB float64       `json:"engineMiB"` // resident after the first plan
	SelfMiB   float64       `json:"selfMiB"`
}

// waiting is the gang whose start shows that the first plan is of use.
const waiting = 64

func restart(scale restartScale) (*restarted, error) {
	profile, err := sink.ReadProfile(configuration)
	if err != nil {
		return nil, err
	}
	cluster, err := sink.New(&facts.Options{Admit: true})
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	engine, err := sink.StartEngine(nil)
	if err != nil {
		return nil, err
	}
	defer engine.Stop()
	tephra, err := action.New(cluster.Feed, action.Options{EngineSocket: engine.Socket, Client: "cyclebench",
		Timeout: cycleLimit})
	if err != nil {
		return nil, err
	}
	defer tephra.Close()
	if err := populate(cluster, scale); err != nil {
		return nil, err
	}

	out := &restarted{restartScale: scale}
	began := time.Now()
	if err := cluster.Start(); err != nil {
		return nil, err
	}
	synced := time.Now()
	out.Sync = synced.Sub(began)
	timed := sink.Do("tephra", func(ssn *framework.Session) {
		began := time.Now()
		tephra.Execute(ssn)
		out.Engine = time.Since(began)
		out.FirstPlan = time.Since(synced)
	})
	cluster.Session(profile, timed)
	if err := cluster.AwaitBindings(); err != nil {
		return nil, err
	}
	if bound := len(cluster.Bindings()); bound != waiting {
		return nil, fmt.Errorf("the first plan bound %d pods, expected the gang of %d", bound, waiting)
	}
	out.EngineMiB, out.SelfMiB = residentMiB(engine.Pid()), residentMiB(0)
	return out, nil
}

// populate fills each node with running pods: seven that have a GPU each and others without, in a
// pod group for each kind. One gang waits, for which every eighth GPU is free.
func populate(cluster *sink.Cluster, scale restartScale) error {
	if err := cluster.Add(sink.Queue("root"), sink.Queue(queue)); err != nil {
		return err
	}
	left := scale.Pods
	for i := range scale.Nodes {
		node, err := sink.GPUNode(fmt.Sprintf("node-%05d", i), gpusPerNode)
		if err != nil {
			return err
		}
		objects := []runtime.Object{node}
		pods := min(left, (scale.Pods+scale.Nodes-1)/scale.Nodes)
		left -= pods
		training := min(pods, gpusPerNode-1)
		for _, gang := range []struct {
			name    string
			members int
			each    corev1.ResourceList
		}{{"training", training, sink.GPUs(1)}, {"serving", pods - training, sink.Cores(1)}} {
			group, members := sink.Gang(fmt.Sprintf("%s-%05d", gang.name, i), queue, gang.members, gang.each)
			group.Status.Phase = "Running"
			objects = append(objects, group)
			for p, pod := range members {
				if err := runOn(pod, node.Name, p, gang.name == "training"); err != nil {
					return err
				}
				objects = append(objects, pod)
			}
		}
		if err := cluster.Add(objects...); err != nil {
			return err
		}
	}
	group, members := sink.Gang("waiting", queue, waiting, sink.GPUs(1))
	objects := []runtime.Object{group}
	for _, pod := range members {
		objects = append(objects, pod)
	}
	return cluster.Add(objects...)
}

func runOn(pod *corev1.Pod, node string, device int, onGPU bool) error {
	pod.Spec.NodeName = node
	pod.Status.Phase = corev1.PodRunning
	if !onGPU {
		return nil
	}
	slices, err := annotations.FormatSlices([]annotations.ContainerSlices{{Name: pod.Spec.Containers[0].Name,
		Slices: []annotations.Slice{{UUID: sink.DeviceUUID(node, device), Index: device, Mode: annotations.Whole,
			Compute: annotations.WholeGPU, MemoryMiB: sink.DeviceMemoryMiB}}}})
	pod.Annotations[annotations.SlicesKey] = slices
	return err
}

func (r *restarted) markdown() string {
	return fmt.Sprintf("| nodes | running pods | caches synced after | first plan carried out, from then | "+
		"of that facts out and plan in | memory of the scheduler | of the engine |\n|---|---|---|---|---|---|---|\n"+
		"| %d | %d | %.1f s | %.1f s | %.1f s | %.0f MiB | %.0f MiB |\n", r.Nodes, r.Pods, r.Sync.Seconds(),
		r.FirstPlan.Seconds(), r.Engine.Seconds(), r.SelfMiB, r.EngineMiB)
}
