package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

const evictWithin = 30 * time.Second

// evictor evicts pods for Volcano's cache. Its own writes the reason into the condition Ready alone,
// calls every eviction a preemption for a higher priority, gives up where the kubelet wrote the status
// meanwhile, and does not delete a pod that an earlier try has marked already.
type evictor struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
}

// Evict implements the cache's Evictor. The pod says why it goes before it does.
func (e *evictor) Evict(pod *v1.Pod, reason string) error {
	text := reason
	if !strings.HasPrefix(reason, "tephra: ") {
		text = "Pod is evicted, because of " + reason // a stock action's single word
	}
	klog.V(3).InfoS("Evicting a pod", "pod", pod.Namespace+"/"+pod.Name, "why", text)
	e.recorder.Event(pod, v1.EventTypeWarning, "Evict", text)
	ctx, cancel := context.WithTimeout(context.Background(), evictWithin)
	defer cancel()
	err := e.mark(ctx, pod, text)
	if err == nil {
		err = e.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	}
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	klog.ErrorS(err, "Could not evict a pod", "pod", pod.Namespace+"/"+pod.Name)
	return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// mark writes the reason into the pod's conditions: DisruptionTarget, as every eviction in Kubernetes
// has it, and Ready, as Volcano does.
func (e *evictor) mark(ctx context.Context, pod *v1.Pod, text string) error {
	pods := e.client.CoreV1().Pods(pod.Namespace)
	marked := pod.DeepCopy()
	tried := false
	return retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if tried {
			if marked, err = pods.Get(ctx, pod.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		tried = true
		if marked.UID != pod.UID {
			return apierrors.NewNotFound(v1.Resource("pods"), pod.Name)
		}
		setCondition(&marked.Status, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "Evict", Message: text})
		setCondition(&marked.Status, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
			Reason: v1.PodReasonPreemptionByScheduler, Message: text})
		_, err = pods.UpdateStatus(ctx, marked, metav1.UpdateOptions{})
		return err
	})
}

func setCondition(status *v1.PodStatus, condition v1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	for i, before := range status.Conditions {
		if before.Type != condition.Type {
			continue
		}
		if before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
		status.Conditions[i] = condition
		return
	}
	status.Conditions = append(status.Conditions, condition)
}
