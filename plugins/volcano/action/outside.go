package action

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
)

const outsideTimeout = 10 * time.Second

// outside writes the condition of a PodGroup that no session shows, such as one whose queue does not
// exist: sessions leave it out, and its owner needs the reason all the more.
type outside struct{ client vcclient.Interface }

func (o outside) write(namespace, name string, condition v1beta1.PodGroupCondition) {
	ctx, cancel := context.WithTimeout(context.Background(), outsideTimeout)
	defer cancel()
	groups := o.client.SchedulingV1beta1().PodGroups(namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		group, err := groups.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		replaced := false
		for i, old := range group.Status.Conditions {
			if old.Type == condition.Type {
				group.Status.Conditions[i], replaced = condition, true
			}
		}
		if !replaced {
			group.Status.Conditions = append(group.Status.Conditions, condition)
		}
		_, err = groups.Update(ctx, group, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.ErrorS(err, "Could not write the condition of a PodGroup", "group", namespace+"/"+name)
	}
}
