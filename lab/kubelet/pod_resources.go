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

// ServePodResources answers who holds what, by the kubelet's own server, until the kubelet is stopped.
func (k *Kubelet) ServePodResources() error {
	listener, err := net.Listen("unix", filepath.Join(k.dir, "pod-resources.sock"))
	if err != nil {
		return err
	}
	k.podResources = grpc.NewServer()
	told := teller{k}
	api.RegisterPodResourcesListerServer(k.podResources, podresources.NewV1PodResourcesServer(context.Background(),
		podresources.PodResourcesProviders{Pods: told, Devices: told, Cpus: told, Memory: told, DynamicResources: told}))
	go func() { _ = k.podResources.Serve(listener) }()
	return nil
}

// teller is what a kubelet's other parts would tell that server.
type teller struct{ kubelet *Kubelet }

func (t teller) GetActivePods() []*core.Pod                     { return t.kubelet.active() }
func (t teller) GetPods() []*core.Pod                           { return t.kubelet.active() }
func (t teller) GetPodByName(string, string) (*core.Pod, bool)  { return nil, false }
func (t teller) UpdateAllocatedDevices()                        { t.kubelet.devices().UpdateAllocatedDevices() }
func (t teller) GetAllocatableDevices() []*api.ContainerDevices { return nil }
func (t teller) GetCPUs(string, string) []int64                 { return nil }
func (t teller) GetAllocatableCPUs() []int64                    { return nil }
func (t teller) GetMemory(string, string) []*api.ContainerMemory {
	return nil
}
func (t teller) GetAllocatableMemory() []*api.ContainerMemory { return nil }
func (t teller) GetDynamicResources(*core.Pod, *core.Container) []*api.DynamicResource {
	return nil
}

func (t teller) GetDevices(uid, container string) (out []*api.ContainerDevices) {
	for resource, devices := range t.kubelet.devices().GetDevices(uid, container) {
		for id := range devices {
			out = append(out, &api.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}})
		}
	}
	return out
}
