package action

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/volcano/pkg/scheduler/api"

	"tephra.sh/volcano/facts"
)

// groupWriter writes annotations of PodGroups in the middle of a session, where the session's own
// writing, at its end, would be too late.
type groupWriter struct{ client vcclient.Interface }

// annotate sets the annotation, or with an empty value removes it. `copied` is the session's copy of
// the group, nil where it has none. It becomes what the API server has then, so that what the session
// writes at its end is not refused as out of date.
func (w groupWriter) annotate(ctx context.Context, job facts.JobRef, copied *api.PodGroup, key, value string) error {
	groups := w.client.SchedulingV1beta1().PodGroups(job.Namespace)
	group := &v1beta1.PodGroup{}
	if copied != nil {
		if err := schedulingscheme.Scheme.Convert(copied.PodGroup.DeepCopy(), group, nil); err != nil {
			return err
		}
	}
	behind := copied == nil
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if behind {
			if group, err = groups.Get(ctx, job.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		behind = true
		if string(group.UID) != job.UID {
			return fmt.Errorf("pod group %s/%s: uid %s, expected %s", job.Namespace, job.Name, group.UID, job.UID)
		}
		if before, given := group.Annotations[key]; before == value && given == (value != "") {
			return nil
		}
		group.Annotations = with(group.Annotations, key, value)
		group, err = groups.Update(ctx, group, metav1.UpdateOptions{})
		return err
	})
	if err != nil || copied == nil {
		return err
	}
	return schedulingscheme.Scheme.Convert(group.DeepCopy(), &copied.PodGroup, nil)
}

// with is a copy that has the annotation; with an empty value, one that has it not.
func with(annotations map[string]string, key, value string) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, key)
	if value != "" {
		out[key] = value
	}
	return out
}
