package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"tephra.sh/volcano/probes"
)

// Paths that the API server calls (manifests/components/admission).
const (
	CompletePath = "/complete"
	CheckPath    = "/check"
)

// The API server sends no object above 3 MiB (etcd's limit is half of that), in a review that holds the
// old one beside the new.
const maxReview = 8 << 20

// Of all reviews that are read at a time; more wait, for less time than the API server does. To decode a review takes about
// five times its size.
const (
	mostReviews = 2 * maxReview
	waitForRoom = 4 * time.Second
)

// Handler answers reviews: Pods are completed, Pods and Volcano Jobs are checked. It may be called by
// any number of goroutines.
func (o *Options) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(CompletePath, func(w http.ResponseWriter, r *http.Request) { o.serve(w, r, "complete", o.complete) })
	mux.HandleFunc(CheckPath, func(w http.ResponseWriter, r *http.Request) { o.serve(w, r, "check", o.check) })
	o.work = &probes.Work{}
	return watched(bounded(mux, waitForRoom), o.work)
}

// The API server waits for a review for 30 s at most, and each part of a request has a deadline.
const wedgedAfter = 5 * time.Minute

// Healthy is nil while no review runs for too long. REQUIRES: Handler was called before.
func (o *Options) Healthy() error { return o.work.Within(wedgedAfter, "a review") }

func watched(next http.Handler, work *probes.Work) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer work.Begin()()
		next.ServeHTTP(w, r)
	})
}

// bounded passes requests on as long as the sizes of those under way are mostReviews together.
func bounded(next http.Handler, wait time.Duration) http.Handler {
	room := semaphore.NewWeighted(mostReviews)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > maxReview { // not said, or cut there
			size = maxReview
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		if err := room.Acquire(ctx, size); err != nil {
			reviews.WithLabelValues("any", "busy").Inc()
			http.Error(w, fmt.Sprintf("reviews of %d bytes are under way, expected at most %d with this one", mostReviews, mostReviews), http.StatusServiceUnavailable)
			return
		}
		defer room.Release(size)
		next.ServeHTTP(w, r)
	})
}

type answer func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)

func (o *Options) serve(w http.ResponseWriter, r *http.Request, name string, answer answer) {
	var review admissionv1.AdmissionReview
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err == nil && review.Request == nil {
		err = fmt.Errorf("request: none, expected an AdmissionReview of %s", admissionv1.SchemeGroupVersion)
	}
	if err != nil {
		reviews.WithLabelValues(name, "malformed").Inc()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response, err := answer(review.Request)
	outcome := "allowed"
	switch {
	case err != nil: // the object is the API server's own, so this is a version that is not known here
		klog.ErrorS(err, "Could not read an object", "kind", review.Request.Kind.Kind, "namespace", review.Request.Namespace, "name", review.Request.Name)
		response, outcome = denied(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()), "malformed"
	case !response.Allowed:
		outcome = "denied"
	case response.Patch != nil:
		outcome = "completed"
	}
	reviews.WithLabelValues(name, outcome).Inc()
	response.UID = review.Request.UID
	w.Header().Set("Content-Type", "application/json")
	err = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
	if err != nil {
		klog.V(2).InfoS("The API server closed the connection before its answer", "err", err)
	}
}

func allowed() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

func denied(code int32, reason metav1.StatusReason, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (o *Options) complete(request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return nil, err
	}
	if !o.Complete(&pod) {
		return allowed(), nil
	}
	// "add" replaces what is there. Only what Complete may change is sent.
	patch := []operation{{"add", "/spec/schedulerName", pod.Spec.SchedulerName}}
	if o.PodGroups && len(pod.Annotations) > 0 {
		patch = append(patch, operation{"add", "/metadata/annotations", pod.Annotations})
	}
	if pod.Spec.RuntimeClassName != nil {
		patch = append(patch, operation{"add", "/spec/runtimeClassName", *pod.Spec.RuntimeClassName})
	}
	for i := range pod.Spec.InitContainers {
		patch = append(patch, operation{"add", fmt.Sprintf("/spec/initContainers/%d/resources", i), pod.Spec.InitContainers[i].Resources})
	}
	for i := range pod.Spec.Containers {
		patch = append(patch, operation{"add", fmt.Sprintf("/spec/containers/%d/resources", i), pod.Spec.Containers[i].Resources})
	}
	response := allowed()
	var err error
	response.Patch, err = json.Marshal(patch)
	kind := admissionv1.PatchTypeJSONPatch
	response.PatchType = &kind
	return response, err
}

func (o *Options) check(request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	message := ""
	switch request.Kind.Kind {
	case "Pod":
		var pod corev1.Pod
		if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
			return nil, err
		}
		if wrong := o.Check(&pod); wrong != nil {
			message = Sentence("", wrong)
		}
	case "Job":
		var job batchv1alpha1.Job
		if err := json.Unmarshal(request.Object.Raw, &job); err != nil {
			return nil, err
		}
		for i, task := range job.Spec.Tasks {
			pod := corev1.Pod{ObjectMeta: task.Template.ObjectMeta, Spec: task.Template.Spec}
			if pod.Spec.SchedulerName == "" { // as Volcano's controller makes the pods
				pod.Spec.SchedulerName = job.Spec.SchedulerName
			}
			if wrong := o.Check(&pod); wrong != nil {
				message = Sentence(fmt.Sprintf("spec.tasks[%d].template.", i), wrong)
				break
			}
		}
	default:
		return nil, fmt.Errorf("kind %q, expected Pod or Job of batch.volcano.sh", request.Kind.Kind)
	}
	if message != "" {
		return denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message), nil
	}
	return allowed(), nil
}
