package annotations

// QueueKey, on a pod, is the queue in which the pod was placed. The scheduler writes it with the Binding, and a
// policy of manifests/base keeps anyone else from changing it: what a pod holds is charged to this queue until
// the pod has ended, whatever its PodGroup says later (docs/adr/0020).
const QueueKey = "tephra.sh/queue"

// EvictionDelayKey, on a Queue, is how long its jobs, and jobs of the queues below it, wait before pods are
// evicted for them.
const EvictionDelayKey = "tephra.sh/eviction-delay"
