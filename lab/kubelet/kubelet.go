// Package kubelet plays a node around the real tephra-node: the kubelet's own device manager, in this
// process, with its checkpoint; the CDI library by which containerd resolves device names; and an API
// server of pods. It needs neither root nor a container runtime. What it leaves out of a kubelet: the
// back-off between tries (shorter here), the phase of its start-up before all pods are known, and CRI.
package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	_ "unsafe" // for go:linkname

	cadvisor "github.com/google/cadvisor/info/v1"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/grpc"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// The constructor that takes a path is not exported; the exported one serves at the path of a real node.
//
//go:linkname newManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newManager(logger klog.Logger, socket string, topology []cadvisor.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

type allReady struct{}

func (allReady) AddSource(string) {}
func (allReady) AllReady() bool   { return true }

// Kubelet admits pods and starts containers in the order in which a real one does.
type Kubelet struct {
	dir     string
	mutex   sync.Mutex
	pods    map[types.UID]*core.Pod // the active pods
	manager *devicemanager.ManagerImpl
	admits  sync.Mutex // one pod at a time
	cdi     *cdi.Cache

	podResources *grpc.Server // nil: none
}

// StartKubelet keeps its files in dir.
func StartKubelet(dir string) (*Kubelet, error) {
	for _, folder := range []string{"device-plugins", "cdi", "cgroup/kubepods"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	k := &Kubelet{dir: dir, pods: map[types.UID]*core.Pod{}}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(filepath.Join(dir, "cdi")), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	k.cdi = cache
	return k, k.startManager()
}

func (k *Kubelet) startManager() error {
	manager, err := newManager(klog.Background(), filepath.Join(k.dir, "device-plugins/kubelet.sock"), nil, topologymanager.NewFakeManager())
	if err != nil {
		return err
	}
	k.mutex.Lock()
	k.manager = manager
	k.mutex.Unlock()
	return manager.Start(klog.Background(), k.active, allReady{}, containermap.NewContainerMap(), sets.New[string]())
}

func (k *Kubelet) active() []*core.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var pods []*core.Pod
	for _, pod := range k.pods {
		pods = append(pods, pod)
	}
	return pods
}

func (k *Kubelet) devices() *devicemanager.ManagerImpl {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.manager
}

// Restart is a restart of the kubelet: a new device manager on the same checkpoint.
func (k *Kubelet) Restart() error {
	if err := k.devices().Stop(klog.Background()); err != nil {
		return err
	}
	return k.startManager()
}

// Stop ends it.
func (k *Kubelet) Stop() {
	if k.podResources != nil {
		k.podResources.Stop()
	}
	_ = k.devices().Stop(klog.Background())
}

// Capacity is how many of the resource there are, and how many of them healthy.
func (k *Kubelet) Capacity(resource string) (all, healthy int64) {
	capacity, allocatable, _ := k.devices().GetCapacity()
	total, free := capacity[core.ResourceName(resource)], allocatable[core.ResourceName(resource)]
	return total.Value(), free.Value()
}

func containers(pod *core.Pod) []core.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// Admit gives each container of the pod its devices; an error fails the pod for good.
func (k *Kubelet) Admit(pod *core.Pod) error {
	k.mutex.Lock()
	k.pods[pod.UID] = pod
	k.mutex.Unlock()
	if err := os.MkdirAll(k.cgroup(pod.UID), 0o755); err != nil {
		return err
	}
	k.admits.Lock()
	defer k.admits.Unlock()
	for _, container := range containers(pod) {
		if err := k.devices().Allocate(pod, &container); err != nil {
			return err
		}
	}
	return nil
}

// Forget frees the pod's devices: it has ended, or was deleted. Its containers may still run.
func (k *Kubelet) Forget(uid types.UID) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.pods, uid)
}

// Gone: no container of the pod runs any more.
func (k *Kubelet) Gone(uid types.UID) { _ = os.Remove(k.cgroup(uid)) }

func (k *Kubelet) cgroup(uid types.UID) string {
	return filepath.Join(k.dir, "cgroup/kubepods", "pod"+string(uid))
}

// Sees is what a container sees of devices.
type Sees struct {
	Env     []string
	Devices []string
	Mounts  map[string]string // by path in the container, the path on the host
	Names   []string          // of CDI
}

// Create tries once to create the container: PreStartContainer, then the resolution of its devices as
// containerd does it.
func (k *Kubelet) Create(ctx context.Context, pod *core.Pod, name string) (*Sees, error) {
	all := containers(pod)
	at := slices.IndexFunc(all, func(c core.Container) bool { return c.Name == name })
	options, err := k.devices().GetDeviceRunContainerOptions(ctx, pod, &all[at])
	if err != nil {
		return nil, err
	}
	if options == nil {
		return nil, fmt.Errorf("container %s: the kubelet has no devices for it", name)
	}
	sees := &Sees{Mounts: map[string]string{}}
	for _, mount := range options.Mounts {
		sees.Mounts[mount.ContainerPath] = mount.HostPath
	}
	for _, device := range options.CDIDevices {
		sees.Names = append(sees.Names, device.Name)
	}
	spec := &oci.Spec{Process: &oci.Process{}, Linux: &oci.Linux{}}
	if len(sees.Names) > 0 {
		k.mutex.Lock()
		_ = k.cdi.Refresh() // an error of some file; what is missing then is an error below
		_, err = k.cdi.InjectDevices(spec, sees.Names...)
		k.mutex.Unlock()
		if err != nil {
			return nil, fmt.Errorf("CDI: %w", err)
		}
	}
	sees.Env = spec.Process.Env
	for _, device := range spec.Linux.Devices {
		sees.Devices = append(sees.Devices, device.Path)
	}
	for _, mount := range spec.Mounts {
		sees.Mounts[mount.Destination] = mount.Source
	}
	return sees, nil
}
