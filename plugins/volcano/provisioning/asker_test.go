package provisioning

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	grouplisters "volcano.sh/apis/pkg/client/listers/scheduling/v1beta1"

	pb "tephra.sh/volcano/tephrav1"
)

// engine says of each gang that one more node is enough. Of unknown gangs it says nothing.
type engine struct {
	pb.EngineServiceClient
	unknown map[string]bool
}

func (e engine) Explain(_ context.Context, asked *pb.ExplainRequest, _ ...grpc.CallOption) (*pb.ExplainReply, error) {
	if e.unknown[asked.GetJob()] {
		return nil, status.Error(codes.NotFound, "no such job")
	}
	return &pb.ExplainReply{Relaxations: []*pb.Relaxation{{Changes: []*pb.Change{{Easing: pb.Easing_EASING_NODES, Amount: 1, Nodes: []string{"n"}}}}}}, nil
}

// stage is an asker of gangs in the namespaces: one each, with the UID and the name of its namespace.
func stage(t *testing.T, unknown map[string]bool, there []runtime.Object, namespaces ...string) (*Asker, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	groups, jobs := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, name := range namespaces {
		controls := true
		group := &v1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Job", Name: name, Controller: &controls}}},
			Spec: v1beta1.PodGroupSpec{MinMember: 1},
			Status: v1beta1.PodGroupStatus{Phase: v1beta1.PodGroupPending, Conditions: []v1beta1.PodGroupCondition{
				{Type: "Placed", Status: corev1.ConditionFalse, Reason: "Room", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}},
		}
		job := &v1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}, Spec: v1alpha1.JobSpec{Tasks: []v1alpha1.TaskSpec{{Name: "w", Replicas: 1}}}}
		if err := errors.Join(groups.Add(group), jobs.Add(job)); err != nil {
			t.Fatal(err)
		}
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{provisioningRequests: "ProvisioningRequestList"}, there...)
	return New(Options{Class: "c", Condition: "Placed", Engine: engine{unknown: unknown}, Kube: kubefake.NewClientset(), Dynamic: client,
		Groups: grouplisters.NewPodGroupLister(groups), Jobs: batchlisters.NewJobLister(jobs), NoPods: func(string) bool { return true }}), client
}

func has(t *testing.T, client *dynamicfake.FakeDynamicClient, namespace string) bool {
	t.Helper()
	_, err := client.Resource(provisioningRequests).Namespace(namespace).Get(t.Context(), requestName(namespace), metav1.GetOptions{})
	return err == nil
}

func TestAGroupThatIsRefusedOrNotKnownStopsNoOther(t *testing.T) {
	asker, client := stage(t, map[string]bool{"b": true}, nil, "a", "b", "c")
	client.PrependReactor("create", "provisioningrequests", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == "a", nil, fmt.Errorf("exceeded quota")
	})
	if err := asker.turn(t.Context()); err == nil {
		t.Error("the refusal is not reported")
	}
	if has(t, client, "a") || has(t, client, "b") || !has(t, client, "c") {
		t.Errorf("requests: a %v, b %v, c %v; expected that of c alone", has(t, client, "a"), has(t, client, "b"), has(t, client, "c"))
	}
}

func TestARequestOfAUserHidesNoGroup(t *testing.T) {
	theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest"}}
	theirs.SetNamespace("mallory")
	theirs.SetName(requestName("a"))
	theirs.SetLabels(map[string]string{GroupLabel: "a"})
	asker, client := stage(t, nil, []runtime.Object{theirs}, "a")
	if err := asker.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !has(t, client, "a") {
		t.Error("the group has no request, because a request in another namespace names it")
	}
}
