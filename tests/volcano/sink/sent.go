package sink

import (
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	shardv1alpha1 "volcano.sh/apis/pkg/apis/shard/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// Binding is what the scheduler sent for one pod.
type Binding struct {
	Pod         *corev1.Pod // as the scheduler had it; not to be changed
	Node        string
	Annotations map[string]string
}

// Sent is everything that the scheduler sent and Settle has not made true yet.
type Sent struct {
	// RefuseBind fails a binding with its text; nil, or an empty text: it is taken.
	RefuseBind func(pod *corev1.Pod, node string) string
	// Slow is called before a pod group is updated, and may take its time; nil: nothing is.
	Slow func(group string)

	mutex       sync.Mutex
	bindings    []Binding
	evictions   []*corev1.Pod
	podGroups   map[string]*api.PodGroup    // the last update of each, by namespace/name
	podStatuses map[string]corev1.PodStatus // the last of each, by uid
}

func (s *Sent) clear() {
	s.bindings, s.evictions = nil, nil
	s.podGroups, s.podStatuses = map[string]*api.PodGroup{}, map[string]corev1.PodStatus{}
}

// Bindings returns what was bound.
func (s *Sent) Bindings() []Binding {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Binding(nil), s.bindings...)
}

// Evictions returns what was evicted.
func (s *Sent) Evictions() []*corev1.Pod {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*corev1.Pod(nil), s.evictions...)
}

type binder Sent

// Bind implements the cache's Binder.
func (b *binder) Bind(_ kubernetes.Interface, tasks []*api.TaskInfo) map[api.TaskID]string {
	failed := map[api.TaskID]string{}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, task := range tasks {
		if b.RefuseBind != nil {
			if why := b.RefuseBind(task.Pod, task.NodeName); why != "" {
				failed[task.UID] = why
				continue
			}
		}
		b.bindings = append(b.bindings, Binding{task.Pod, task.NodeName, task.Pod.Annotations})
	}
	return failed
}

type evictor Sent

// Evict implements the cache's Evictor.
func (e *evictor) Evict(pod *corev1.Pod, _ string) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.evictions = append(e.evictions, pod)
	return nil
}

type statusUpdater Sent

// UpdatePodStatus implements the cache's StatusUpdater.
func (u *statusUpdater) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.podStatuses[string(pod.UID)] = pod.Status
	return pod, nil
}

// UpdatePodGroup implements the cache's StatusUpdater.
func (u *statusUpdater) UpdatePodGroup(group *api.PodGroup) (*api.PodGroup, error) {
	if u.Slow != nil {
		u.Slow(group.Name)
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.podGroups[group.Namespace+"/"+group.Name] = group
	return group, nil
}

// UpdateQueueStatus implements the cache's StatusUpdater.
func (u *statusUpdater) UpdateQueueStatus(*api.QueueInfo) error { return nil }

// UpdateNodeShardStatus implements the cache's StatusUpdater.
func (u *statusUpdater) UpdateNodeShardStatus(shard *shardv1alpha1.NodeShard) (*shardv1alpha1.NodeShard, error) {
	return shard, nil
}

// AwaitBindings returns once every task that the cache has handed over was sent.
func (c *Cluster) AwaitBindings() error {
	for deadline := time.Now().Add(settleWithin); ; time.Sleep(2 * time.Millisecond) {
		missing := c.bindingTasks() - len(c.Bindings())
		if missing <= 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d bindings are still under way after %s", missing, settleWithin)
		}
	}
}

func (c *Cluster) bindingTasks() int {
	c.Cache.Lock()
	defer c.Cache.Unlock()
	tasks := 0
	for _, job := range c.Cache.Jobs {
		tasks += len(job.TaskStatusIndex[api.Binding])
	}
	return tasks
}

// Settle makes what was sent true: bound pods run, evicted pods are gone, pods and pod groups have
// the status that the scheduler gave them. It returns once the cache has seen that.
func (c *Cluster) Settle() error {
	if err := c.AwaitBindings(); err != nil {
		return err
	}
	c.Sent.mutex.Lock()
	sent := Sent{bindings: c.bindings, evictions: c.evictions, podGroups: c.podGroups, podStatuses: c.podStatuses}
	c.Sent.clear()
	c.Sent.mutex.Unlock()

	var changed, gone []runtime.Object
	for _, group := range sent.podGroups {
		now := &schedulingv1beta1.PodGroup{}
		if err := schedulingscheme.Scheme.Convert(&group.PodGroup, now, nil); err != nil {
			return err
		}
		changed = append(changed, now)
	}
	pods := map[string]*corev1.Pod{}
	for uid, status := range sent.podStatuses {
		if pod := c.server.pod(uid); pod != nil {
			pod.Status = status
			pods[uid] = pod
		}
	}
	for _, binding := range sent.bindings {
		uid := string(binding.Pod.UID)
		if pods[uid] == nil {
			pods[uid] = c.server.pod(uid)
		}
		run(pods[uid], binding)
	}
	for _, pod := range pods {
		changed = append(changed, pod)
	}
	for _, pod := range sent.evictions {
		gone = append(gone, pod.DeepCopy())
	}
	if err := c.Add(changed...); err != nil {
		return err
	}
	return c.Delete(gone...)
}

// run makes the pod what its kubelet reports soon after the binding.
func run(pod *corev1.Pod, binding Binding) {
	pod.Annotations = maps.Clone(binding.Annotations)
	pod.Spec.NodeName = binding.Node
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = nil
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition,
			Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
}

// Phase is that of a pod group as the scheduler last sent it, or else as it was.
func (c *Cluster) Phase(namespace, name string) scheduling.PodGroupPhase {
	key := namespace + "/" + name
	c.Sent.mutex.Lock()
	defer c.Sent.mutex.Unlock()
	if group := c.podGroups[key]; group != nil {
		return group.Status.Phase
	}
	c.server.mutex.Lock()
	defer c.server.mutex.Unlock()
	if group := c.server.groups[key]; group != nil {
		return scheduling.PodGroupPhase(group.Status.Phase)
	}
	return ""
}
