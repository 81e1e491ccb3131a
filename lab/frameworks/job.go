package frameworks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"tephra.sh/lab/e2e"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Job is one object of a framework in a namespace of its own: all pods of the namespace are its pods.
type Job struct {
	Cluster   *e2e.Cluster
	Namespace string
	Resource  schema.GroupVersionResource
	Name      string
}

// Example is the path of a file of examples/frameworks.
func Example(file string) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	if named := os.Getenv("TEPHRA_FRAMEWORKS"); named != "" {
		folder = filepath.Join("build", "frameworks") // the examples are in the working tree in any case
	}
	return filepath.Join(folder, "..", "..", "examples", "frameworks", file), nil
}

// Apply creates the objects of the file in the namespace of the job.
func (j *Job) Apply(ctx context.Context, path string) error {
	_, err := j.Cluster.Kubectl(ctx, "", "apply", "-n", j.Namespace, "-f", path)
	return err
}

func (j *Job) objects() (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(j.Cluster.Config)
	if err != nil {
		return nil, err
	}
	return client.Resource(j.Resource).Namespace(j.Namespace), nil
}

// Object is the job's object as it is now.
func (j *Job) Object(ctx context.Context) (*unstructured.Unstructured, error) {
	objects, err := j.objects()
	if err != nil {
		return nil, err
	}
	return objects.Get(ctx, j.Name, metav1.GetOptions{})
}

// Set changes one field of the object, such as Set(ctx, true, "spec", "suspend").
func (j *Job) Set(ctx context.Context, value any, path ...string) error {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	patch, err := json.Marshal(value)
	if err != nil {
		return err
	}
	objects, err := j.objects()
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, j.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// Delete deletes the object, and all that it owns.
func (j *Job) Delete(ctx context.Context) error {
	objects, err := j.objects()
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	return objects.Delete(ctx, j.Name, metav1.DeleteOptions{PropagationPolicy: &background})
}

// Condition is the status of the object's condition of that type: "True", "False" or "", if it has none.
func (j *Job) Condition(ctx context.Context, kind string) (string, error) {
	object, err := j.Object(ctx)
	if err != nil {
		return "", err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return "", err
	}
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status, nil
		}
	}
	return "", nil
}

// Active are the pods that have not ended and are not being deleted.
func (j *Job) Active(ctx context.Context) (active []core.Pod, err error) {
	pods, err := j.Cluster.Pods(ctx, j.Namespace, "")
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != core.PodSucceeded && pod.Status.Phase != core.PodFailed {
			active = append(active, pod)
		}
	}
	return active, err
}

// Runs returns when exactly so many pods are active, and all of them run.
func (j *Job) Runs(ctx context.Context, count int) error {
	return e2e.Until(ctx, func(ctx context.Context) error {
		active, err := j.Active(ctx)
		if err != nil {
			return err
		}
		running := 0
		for _, pod := range active {
			if pod.Spec.SchedulerName != "volcano" {
				return e2e.Final(fmt.Errorf("pod %s: scheduler %q, expected volcano", pod.Name, pod.Spec.SchedulerName))
			}
			if pod.Status.Phase == core.PodRunning {
				running++
			}
		}
		if running != count || len(active) != count {
			return fmt.Errorf("namespace %s: %d pods, %d of them running, expected %d", j.Namespace, len(active), running, count)
		}
		return nil
	})
}

// Bound is how many active pods have a node.
func (j *Job) Bound(ctx context.Context) (bound int, err error) {
	active, err := j.Active(ctx)
	for _, pod := range active {
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	return bound, err
}

// Ends makes the pods whose names contain the text end well; all pods, if it is empty.
func (j *Job) Ends(ctx context.Context, text string) error {
	active, err := j.Active(ctx)
	if err != nil {
		return err
	}
	for _, pod := range active {
		if !strings.Contains(pod.Name, text) {
			continue
		}
		patch := []byte(`{"metadata":{"annotations":{"lab.tephra.sh/run-for":"0s"}}}`)
		if _, err := j.Cluster.Kube.CoreV1().Pods(j.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Groups are the PodGroups of the namespace.
func (j *Job) Groups(ctx context.Context) ([]scheduling.PodGroup, error) {
	groups, err := j.Cluster.Volcano.SchedulingV1beta1().PodGroups(j.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return groups.Items, nil
}

// Data makes the claim "training-data", which examples mount, and returns when it is bound.
func (j *Job) Data(ctx context.Context) error {
	shared := []core.PersistentVolumeAccessMode{core.ReadWriteMany}
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("1Ti")}
	none, volume := "", "data-"+j.Namespace
	_, err := j.Cluster.Kube.CoreV1().PersistentVolumes().Create(ctx, &core.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: core.PersistentVolumeSpec{Capacity: size, AccessModes: shared, PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: core.PersistentVolumeSource{NFS: &core.NFSVolumeSource{Server: "127.0.0.1", Path: "/none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = j.Cluster.Kube.CoreV1().PersistentVolumeClaims(j.Namespace).Create(ctx, &core.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "training-data"},
		Spec:       core.PersistentVolumeClaimSpec{AccessModes: shared, StorageClassName: &none, VolumeName: volume, Resources: core.VolumeResourceRequirements{Requests: size}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return e2e.Until(ctx, func(ctx context.Context) error {
		claim, err := j.Cluster.Kube.CoreV1().PersistentVolumeClaims(j.Namespace).Get(ctx, "training-data", metav1.GetOptions{})
		if err == nil && claim.Status.Phase != core.ClaimBound {
			err = fmt.Errorf("claim %s/training-data: %s, expected Bound", j.Namespace, claim.Status.Phase)
		}
		return err
	})
}
