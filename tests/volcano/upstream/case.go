package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v2"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

// testCase is one case: a cluster, the actions of one session, and what is to come of them.
type testCase struct {
	Format int `json:"format"`
	Source struct {
		Package string `json:"package"`
		Test    string `json:"test"`
		Index   int    `json:"index"`
	} `json:"source"`
	Name           string          `json:"name"`
	Plugins        []string        `json:"plugins"` // tiers may name more, which do not count
	Tiers          json.RawMessage `json:"tiers"`
	Configurations json.RawMessage `json:"configurations"`
	Actions        []string        `json:"actions"`
	Cluster        cluster         `json:"cluster"`
	Expect         expectation     `json:"expect"`
	// What became of each task that the stock actions touched, by namespace/pod.
	Outcome map[string]struct {
		Status string `json:"status"`
		Node   string `json:"node"`
	} `json:"outcome"`
	Checked string `json:"checked"` // "ok": upstream's test checked the expectation

	text []byte
}

// fresh is the case as it was read: a session changes the objects that it is given.
func (c *testCase) fresh() (*testCase, error) {
	out := &testCase{text: c.text}
	return out, json.Unmarshal(c.text, out)
}

type cluster struct {
	Nodes           []*corev1.Node                  `json:"nodes"`
	Pods            []*corev1.Pod                   `json:"pods"`
	PodGroups       []*schedulingv1beta1.PodGroup   `json:"podGroups"`
	Queues          []*schedulingv1beta1.Queue      `json:"queues"`
	PriorityClasses []*schedulingv1.PriorityClass   `json:"priorityClasses"`
	ResourceQuotas  []*corev1.ResourceQuota         `json:"resourceQuotas"`
	Volumes         []*corev1.PersistentVolume      `json:"persistentVolumes"`
	Claims          []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	StorageClasses  []*storagev1.StorageClass       `json:"storageClasses"`
	ResourceSlices  []*resourcev1.ResourceSlice     `json:"resourceSlices"`
	DeviceClasses   []*resourcev1.DeviceClass       `json:"deviceClasses"`
	ResourceClaims  []*resourcev1.ResourceClaim     `json:"resourceClaims"`
	// Provisioners whose claims do not count as resources.
	IgnoreProvisioners []string `json:"ignoreProvisioners"`

	HyperNodes []struct {
		Name      string                      `json:"name"`
		HyperNode *topologyv1alpha1.HyperNode `json:"hyperNode"`
		RealNodes []string                    `json:"realNodes"`
	} `json:"hyperNodes"`
	HyperNodesByTier map[int][]string `json:"hyperNodesByTier"`

	ShardingMode string   `json:"shardingMode"`
	ShardName    string   `json:"shardName"`
	NodesInShard []string `json:"nodesInShard"`
}

type expectation struct {
	Binds       map[string]string         `json:"binds"` // namespace/pod to node
	BindsNum    int                       `json:"bindsNum"`
	OnlyCount   bool                      `json:"minimalBindCheck"`
	Evicted     []string                  `json:"evicted"`
	Pipelined   map[string][]string       `json:"pipelined"` // job to nodes
	Phases      map[string]string         `json:"podGroupPhase"`
	TaskNumbers map[string]map[string]int `json:"taskStatusNums"`
}

// title is package/Test-index.
func (c *testCase) title() string {
	return fmt.Sprintf("%s/%s-%03d", c.group(), c.Source.Test, c.Source.Index)
}

func (c *testCase) group() string { return filepath.Base(c.Source.Package) }

func readCases(folder string) ([]*testCase, error) {
	var cases []*testCase
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("--cases %q: no cases in it, expected actions/*/*.json or plugins/*/*.json", folder)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := (&testCase{text: text}).fresh()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c.Format != 1 {
			return nil, fmt.Errorf("%s: format %d, expected 1", path, c.Format)
		}
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b *testCase) int { return strings.Compare(a.title(), b.title()) })
	return cases, nil
}

// tiers are the case's, without plugins that its test did not register.
func (c *testCase) tiers() ([]conf.Tier, []conf.Configuration, error) {
	var tiers []conf.Tier
	var arguments []conf.Configuration
	// The types have YAML names only, and JSON is YAML.
	if err := yaml.Unmarshal(c.Tiers, &tiers); err != nil {
		return nil, nil, fmt.Errorf("tiers: %w", err)
	}
	if err := yaml.Unmarshal(c.Configurations, &arguments); err != nil {
		return nil, nil, fmt.Errorf("configurations: %w", err)
	}
	for i := range tiers {
		tiers[i].Plugins = slices.DeleteFunc(tiers[i].Plugins, func(plugin conf.PluginOption) bool {
			return !slices.Contains(c.Plugins, plugin.Name)
		})
	}
	return tiers, arguments, nil
}
