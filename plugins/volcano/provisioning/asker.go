// Package provisioning asks autoscalers for nodes: a gang that waits for nodes and has no pods yet gets one ProvisioningRequest
// (autoscaling.x-k8s.io/v1), which is withdrawn when the gang needs no more nodes. An autoscaler sees pods that exist by itself.
//
// How many nodes a gang needs is the engine's answer to `tephra explain`, computed with the policies that decide.
package provisioning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	grouplisters "volcano.sh/apis/pkg/client/listers/scheduling/v1beta1"

	pb "tephra.sh/volcano/tephrav1"
)

// Bounds of the work: explanations are computed by the engine between cycles.
const (
	mostAsked      = 16 // explanations of one turn
	explainTimeout = 5 * time.Second
	againAfter     = time.Minute // an explanation is as old as this at most
)

// waitsForNodes are the reasons of a pending gang that more nodes may remove.
var waitsForNodes = []string{"Room", "Together", "Locality", "SubGroups", "Reserved", "Search", "Infeasible"}

// Options of an Asker.
type Options struct {
	Class  string        // spec.provisioningClassName
	Delay  time.Duration // how long a gang waits before nodes are requested for it
	Period time.Duration
	// Condition is the type of the condition of PodGroups that says why a gang waits.
	Condition string

	Engine  pb.EngineServiceClient
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	Groups  grouplisters.PodGroupLister
	Jobs    batchlisters.JobLister
	NoPods  func(uid string) bool // the group belongs to this scheduler and has no pods
}

// Asker keeps the requests of all gangs. Its turns run one at a time, in the process that leads.
type Asker struct {
	Options
	asked map[request]bool // nil: not read yet
	known map[string]answer
}

// request is that of the group with the UID, in the namespace of the group.
type request struct{ namespace, uid string }

func requestFor(group *v1beta1.PodGroup) request { return request{group.Namespace, string(group.UID)} }

// answer is what the engine said of a gang.
type answer struct {
	reason string // of the condition that was explained
	given  bool   // false: the engine does not know the gang yet
	nodes  int64  // 0: more nodes alone do not help
	like   string
	at     time.Time
}

// New makes an Asker. Run starts it.
func New(options Options) *Asker { return &Asker{Options: options, known: map[string]answer{}} }

// Run takes turns until the context ends.
func (a *Asker) Run(ctx context.Context) {
	ticker := time.NewTicker(a.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := a.turn(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Could not request nodes; the next turn tries again")
		}
	}
}

func (a *Asker) turn(ctx context.Context) error {
	if a.asked == nil {
		if err := a.read(ctx); err != nil {
			return err
		}
	}
	groups, err := a.Groups.List(labels.Everything())
	if err != nil {
		return err
	}
	waiting := map[string]*v1beta1.PodGroup{}
	for _, group := range groups {
		if reason, since := a.waits(group); reason != "" && time.Since(since) >= a.Delay {
			waiting[string(group.UID)] = group
		}
	}
	for uid := range a.known {
		if waiting[uid] == nil {
			delete(a.known, uid)
		}
	}
	if err := a.explain(ctx, waiting); err != nil {
		return err
	}
	// What the API server refuses for one group, such as by a quota of its namespace, stops no other group.
	var failed []error
	for uid, group := range waiting {
		if known := a.known[uid]; !a.asked[requestFor(group)] && known.nodes > 0 {
			failed = append(failed, a.ask(ctx, group, known))
		}
	}
	for at := range a.asked {
		if known := a.known[at.uid]; waiting[at.uid] == nil || known.given && known.nodes == 0 {
			failed = append(failed, a.withdraw(ctx, at))
		}
	}
	return errors.Join(failed...)
}

// waits is why the gang waits and since when; empty: it does not wait for nodes, or it has pods.
func (a *Asker) waits(group *v1beta1.PodGroup) (string, time.Time) {
	if group.Status.Phase != v1beta1.PodGroupPending && group.Status.Phase != "" || group.DeletionTimestamp != nil || !a.NoPods(string(group.UID)) {
		return "", time.Time{}
	}
	for _, each := range group.Status.Conditions {
		if string(each.Type) == a.Condition && each.Status == "False" && slices.Contains(waitsForNodes, each.Reason) {
			return each.Reason, each.LastTransitionTime.Time
		}
	}
	return "", time.Time{}
}

// explain asks the engine about gangs whose answer is missing or old, the oldest answers first.
func (a *Asker) explain(ctx context.Context, waiting map[string]*v1beta1.PodGroup) error {
	var due []string
	for uid, group := range waiting {
		reason, _ := a.waits(group)
		if known, is := a.known[uid]; !is || known.reason != reason || time.Since(known.at) >= againAfter {
			due = append(due, uid)
		}
	}
	slices.SortFunc(due, func(x, y string) int { return cmp.Or(a.known[x].at.Compare(a.known[y].at), cmp.Compare(x, y)) })
	for _, uid := range due[:min(len(due), mostAsked)] {
		reply, err := a.engineSays(ctx, uid)
		unknown := status.Code(err) == codes.NotFound // which stops no other group
		if err != nil && !unknown {
			return fmt.Errorf("explain PodGroup %s/%s: %w", waiting[uid].Namespace, waiting[uid].Name, err)
		}
		reason, _ := a.waits(waiting[uid])
		known := answer{reason: reason, given: !unknown, at: time.Now()}
		known.nodes, known.like = moreNodes(reply)
		a.known[uid] = known
	}
	return nil
}

func (a *Asker) engineSays(ctx context.Context, uid string) (*pb.ExplainReply, error) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	return a.Engine.Explain(ctx, &pb.ExplainRequest{Job: uid})
}

// moreNodes is how many nodes more, and like which one, are enough with nothing else changed; 0: no number of nodes is.
func moreNodes(reply *pb.ExplainReply) (int64, string) {
	if reply.GetFitsNow() {
		return 0, ""
	}
	for _, relaxation := range reply.GetRelaxations() {
		changes := relaxation.GetChanges()
		if len(changes) == 1 && changes[0].GetEasing() == pb.Easing_EASING_NODES && len(changes[0].GetNodes()) > 0 {
			return changes[0].GetAmount(), changes[0].GetNodes()[0]
		}
	}
	return 0, ""
}

// read finds the requests of the scheduler that led before.
func (a *Asker) read(ctx context.Context) error {
	list, err := a.Dynamic.Resource(provisioningRequests).List(ctx, metav1.ListOptions{LabelSelector: GroupLabel})
	if err != nil {
		return fmt.Errorf("list ProvisioningRequests: %w", err)
	}
	a.asked = map[request]bool{}
	for _, each := range list.Items {
		// A request of another name is a user's, whatever its labels say.
		if uid := each.GetLabels()[GroupLabel]; each.GetName() == requestName(uid) {
			a.asked[request{each.GetNamespace(), uid}] = true
		}
	}
	return nil
}

func (a *Asker) ask(ctx context.Context, group *v1beta1.PodGroup, need answer) error {
	templates, wrong := a.templates(group)
	if wrong != nil {
		klog.V(2).InfoS("No nodes are requested for a gang", "group", klog.KObj(group), "why", wrong)
		return nil
	}
	for _, each := range templates {
		_, err := a.Kube.CoreV1().PodTemplates(group.Namespace).Create(ctx, each.object, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("PodTemplate %s/%s: %w", group.Namespace, each.object.Name, err)
		}
	}
	object := requestOf(group, a.Class, templates, map[string]string{NodesKey: strconv.FormatInt(need.nodes, 10), NodeLikeKey: need.like})
	_, err := a.Dynamic.Resource(provisioningRequests).Namespace(group.Namespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("ProvisioningRequest %s/%s: %w", group.Namespace, object.GetName(), err)
	}
	a.asked[requestFor(group)] = true
	klog.InfoS("Requested nodes for a gang", "group", klog.KObj(group), "nodes", need.nodes, "like", need.like)
	return nil
}

func (a *Asker) withdraw(ctx context.Context, at request) error {
	name := requestName(at.uid)
	err := a.Dynamic.Resource(provisioningRequests).Namespace(at.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ProvisioningRequest %s/%s: %w", at.namespace, name, err)
	}
	for set := range mostPodSets {
		err := a.Kube.CoreV1().PodTemplates(at.namespace).Delete(ctx, templateName(at.uid, set), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return fmt.Errorf("PodTemplate %s/%s: %w", at.namespace, templateName(at.uid, set), err)
		}
	}
	delete(a.asked, at)
	klog.InfoS("Withdrew a request for nodes", "request", at.namespace+"/"+name)
	return nil
}
