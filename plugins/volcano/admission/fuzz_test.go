package admission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// FuzzReview sends the bodies of requests to both paths: each answer is one that the API server reads, and what completes
// a pod leaves it with nothing to complete.
func FuzzReview(f *testing.F) {
	for _, pod := range []string{
		`{"spec":{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpumem":"4000"}}}]}}`,
		`{"metadata":{"annotations":{"gpu-fraction":"0.5"}},"spec":{"schedulerName":"tephra","containers":[{"name":"a"},{"name":"b"}]}}`,
		`{"spec":{"schedulerName":"other","initContainers":[{"name":"a","resources":{"limits":{"tephra.sh/gpu-slot":"1"}}}]}}`,
	} {
		f.Add([]byte(`{"request":{"uid":"u","kind":{"kind":"Pod"},"object":` + pod + `}}`))
		f.Add([]byte(`{"request":{"uid":"u","kind":{"kind":"Job"},"object":{"spec":{"schedulerName":"tephra","tasks":[{"template":` + pod + `}]}}}}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		options := some()
		options.PodGroups = len(body)%2 == 0
		for _, path := range []string{CompletePath, CheckPath} {
			recorder := httptest.NewRecorder()
			options.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
			if recorder.Code == http.StatusBadRequest {
				continue
			}
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &review); recorder.Code != http.StatusOK || err != nil || review.Response == nil {
				t.Fatalf("%s: %d %s", path, recorder.Code, recorder.Body)
			}
		}
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if json.Unmarshal(body, &review) != nil || review.Request == nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
			return
		}
		if options.Complete(&pod) && options.Complete(&pod) {
			t.Fatalf("completed twice: %s", body)
		}
	})
}
