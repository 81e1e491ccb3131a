// Package facts turns what the scheduler's informers know into the engine's facts: nodes, the
// HyperNodes they are in or the domains that their labels tell, queues, pod groups with their Volcano Jobs, every pod of the cluster and the
// disruption budgets that guard them.
//
// A Feed keeps what the engine knows. Drain says what has changed since, each object at most
// once, and says nothing about the noise of heartbeats and conditions; Sync says everything that is
// true now. A Feed that is drained and one that has just been made say the same of equal objects,
// but for two things that only time can tell: whether the pods of a group were all there once, and
// which place in its role a pod without an index was given.
//
// Informer handlers may call in from any goroutine. Everything exported may be called from any
// goroutine too, but Sync and Drain tell one listener, so one goroutine calls them.
//
// The feed leaves out what no policy reads yet: preferred affinities, topology spread that
// is only preferred.
package facts
