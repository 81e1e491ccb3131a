package scheduler

import (
	"cmp"
	"os"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// selfReference is what events about this scheduler are about: its own pod, or its lease where it
// does not run in one.
func selfReference(opt *options.ServerOption) *v1.ObjectReference {
	if pod := os.Getenv("POD_NAME"); pod != "" {
		return &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: os.Getenv("POD_NAMESPACE"), Name: pod}
	}
	return &v1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
		Namespace: opt.LeaderElection.ResourceNamespace, Name: opt.LeaderElection.ResourceName}
}

// ownNamespace is where this scheduler keeps what is its own: its pod's, or its lease's where it does
// not run in one.
func ownNamespace(opt *options.ServerOption) string {
	return cmp.Or(os.Getenv("POD_NAMESPACE"), opt.LeaderElection.ResourceNamespace)
}
