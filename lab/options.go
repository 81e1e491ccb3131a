package lab

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Options say what lab to start. Start with Defaults.
type Options struct {
	// Dir holds data, certificates, logs and the kubeconfig; it must be empty or absent. "" is a new
	// temporary folder. What the lab wrote there is removed at the end, unless Keep.
	Dir  string
	Keep bool
	// Kubeconfig is one more place to write the administrator's kubeconfig to, where no file is yet;
	// "" is none. Removed at the end like the rest.
	Kubeconfig string
	// Binary is a program that calls components.RunIfAsked; "" is the running one.
	Binary string
	// Progress gets one line for each step; nil: no output.
	Progress io.Writer

	Nodes           NodeShape
	Queues          []Queue         // beside root and default
	PriorityClasses []PriorityClass // beside Kubernetes' own two
	// SchedulerNames are the schedulers whose pods and Jobs Volcano's controllers and admission look after.
	SchedulerNames []string

	Admission              bool   // Volcano's webhooks, as its chart enables them
	StockScheduler         bool   // Volcano's own scheduler
	StockSchedulerConfig   string // its configuration file; "" is Volcano's default
	KubeScheduler          bool   // the default scheduler, for pods that name it
	ServiceAccountTokens   bool   // ServiceAccount admission: each pod gets the usual token volume
	APIServerFlags         []string
	ControllerManagerFlags []string
	StockSchedulerFlags    []string
}

// NodeShape is what the fake nodes look like; all are equal but for name, rack and device ids.
type NodeShape struct {
	Count  int
	Racks  int // nodes 0 to Count/Racks-1 stand in the first, and so on
	CPUs   int64
	Memory resource.Quantity
	Pods   int64 // how many fit on one node

	GPUs         int // none: no device resources, labels or inventory
	GPUModel     string
	GPUMemoryMiB int64
}

// Queue is a Volcano queue below root.
type Queue struct {
	Name   string
	Weight int32
}

// PriorityClass is a name for a priority.
type PriorityClass struct {
	Name  string
	Value int32
}

// Defaults are two racks of eight-GPU machines and two queues of equal weight.
func Defaults() Options {
	return Options{
		Nodes: NodeShape{
			Count: 16, Racks: 2, CPUs: 96, Memory: resource.MustParse("1Ti"), Pods: 110,
			GPUs: 8, GPUModel: "H100-SXM5-80GB", GPUMemoryMiB: 81559,
		},
		Queues:               []Queue{{"research", 1}, {"production", 1}},
		PriorityClasses:      []PriorityClass{{"low", 100}, {"normal", 1000}, {"high", 10000}},
		SchedulerNames:       []string{"volcano"},
		Admission:            true,
		ServiceAccountTokens: true,
	}
}

// ParseQueue reads NAME or NAME=WEIGHT; the weight is 1 when it is not given.
func ParseQueue(text string) (Queue, error) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return Queue{name, 1}, nil
	}
	weight, err := strconv.ParseInt(value, 10, 32)
	if err != nil || weight < 1 {
		return Queue{}, fmt.Errorf("queue %q: weight %q, expected a whole number from 1", name, value)
	}
	return Queue{name, int32(weight)}, nil
}

// ParsePriorityClass reads NAME=VALUE.
func ParsePriorityClass(text string) (PriorityClass, error) {
	name, value, _ := strings.Cut(text, "=")
	priority, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return PriorityClass{}, fmt.Errorf("priority class %q: value %q, expected a whole number", name, value)
	}
	return PriorityClass{name, int32(priority)}, nil
}

func (s NodeShape) validate() error {
	switch {
	case s.Count < 0:
		return fmt.Errorf("nodes: %d, expected 0 or more", s.Count)
	case s.Racks < 1 || s.Racks > max(s.Count, 1):
		return fmt.Errorf("racks: %d, expected 1 to the number of nodes (%d)", s.Racks, s.Count)
	case s.GPUs < 0:
		return fmt.Errorf("gpus: %d, expected 0 or more", s.GPUs)
	case s.CPUs < 1:
		return fmt.Errorf("cpus: %d, expected 1 or more", s.CPUs)
	case s.Pods < 1:
		return fmt.Errorf("pods: %d, expected 1 or more", s.Pods)
	case s.GPUs > 0 && s.GPUMemoryMiB < 1:
		return fmt.Errorf("gpu memory: %d MiB, expected 1 or more", s.GPUMemoryMiB)
	}
	return nil
}
