package kubelet

import (
	"context"
	"net"
	"path/filepath"

	"google.golang.org/grpc"
	core "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// ServePodResources answers which containers have which devices, by the kubelet's own server, until the kubelet is stopped.
func (k *Kubelet) ServePodResources() error {
	listener, err := net.Listen("unix", filepath.Join(k.dir, "pod-resources.sock"))
	if err != nil {
		return err
	}
	k.podResources = grpc.NewServer()
	lists := lister{k}
	api.RegisterPodResourcesListerServer(k.podResources, podresources.NewV1PodResourcesServer(context.Background(),
		podresources.PodResourcesProviders{Pods: lists, Devices: lists, Cpus: lists, Memory: lists, DynamicResources: lists}))
	go func() { _ = k.podResources.Serve(listener) }()
	return nil
}

// lister is what a kubelet's other parts would tell that server.
type lister struct{ kubelet *Kubelet }

func (t lister) GetActivePods() []*core.Pod                     { return t.kubelet.active() }
func (t lister) GetPods() []*core.Pod                           { return t.kubelet.active() }
func (t lister) GetPodByName(string, string) (*core.Pod, bool)  { return nil, false }
func (t lister) UpdateAllocatedDevices()                        { t.kubelet.devices().UpdateAllocatedDevices() }
func (t lister) GetAllocatableDevices() []*api.ContainerDevices { return nil }
func (t lister) GetCPUs(string, string) []int64                 { return nil }
func (t lister) GetAllocatableCPUs() []int64                    { return nil }
func (t lister) GetMemory(string, string) []*api.ContainerMemory {
	return nil
}
func (t lister) GetAllocatableMemory() []*api.ContainerMemory { return nil }
func (t lister) GetDynamicResources(*core.Pod, *core.Container) []*api.DynamicResource {
	return nil
}

func (t lister) GetDevices(uid, container string) (out []*api.ContainerDevices) {
	for resource, devices := range t.kubelet.devices().GetDevices(uid, container) {
		for id := range devices {
			out = append(out, &api.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}})
		}
	}
	return out
}
