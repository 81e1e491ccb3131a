package admission

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"tephra.sh/volcano/requests"
)

func some() *Options {
	return &Options{SchedulerName: "tephra", Take: TakeParts, Devices: requests.Default()}
}

// podOf is a pod of the default scheduler unless it says otherwise, with the lines below "spec:".
func podOf(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName // as the API server has done
	}
	return pod
}

func TestPodsAreCompleted(t *testing.T) {
	for _, test := range []struct {
		name, pod, want string // empty: it stays as it is
		options         func(*Options)
	}{
		{"whole GPUs, for us", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}, {name: b}]}",
			"spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2, tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}, {name: b}]}", nil},
		{"a part goes to us", "spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 4000}}}]}",
			"spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 4000, tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}]}", nil},
		{"init containers too", "spec: {initContainers: [{name: i, resources: {limits: {nvidia.com/gpucores: 30, nvidia.com/gpumem: 100}}}], containers: [{name: a}]}",
			"spec: {schedulerName: tephra, initContainers: [{name: i, resources: {limits: {nvidia.com/gpucores: 30, nvidia.com/gpumem: 100, tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}], containers: [{name: a}]}", nil},
		{"KAI's annotation is of one container", "{metadata: {annotations: {gpu-fraction: '0.5', gpu-fraction-container-name: b}}, spec: {containers: [{name: a}, {name: b}]}}",
			"{metadata: {annotations: {gpu-fraction: '0.5', gpu-fraction-container-name: b}}, spec: {schedulerName: tephra, containers: [{name: a}, {name: b, resources: {limits: {tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}]}}", nil},
		{"a MIG instance", "spec: {containers: [{name: a, resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]}",
			"spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/mig-1g.10gb: 1, tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}]}", nil},
		{"whole GPUs of another scheduler", "spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}]}", "", nil},
		{"a part of another scheduler that is named", "spec: {schedulerName: other, containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 400}}}]}", "", nil},
		{"another vendor's", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {amd.com/gpu: 2}}}]}", "", nil},
		{"no devices", "spec: {schedulerName: tephra, containers: [{name: a}]}", "", nil},
		{"already complete", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, tephra.sh/gpu-slot: 1}}}]}", "", nil},
		{"what is refused", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, volcano.sh/vgpu-number: 1}}}]}", "", nil},
		{"parts, of which none are taken", "spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 400}}}]}", "", func(o *Options) { o.Take = TakeNone }},
		{"whole ones, of which all are taken", "spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}",
			"spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, tephra.sh/gpu-slot: 1}, requests: {tephra.sh/gpu-slot: 1}}}]}", func(o *Options) { o.Take = TakeAll }},
		{"a runtime class and a count", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 400}}}]}",
			"spec: {schedulerName: tephra, runtimeClassName: nvidia, containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 400, nvidia.com/gpu: 1, tephra.sh/gpu-slot: 1}, requests: {nvidia.com/gpu: 1, tephra.sh/gpu-slot: 1}}}]}",
			func(o *Options) { o.RuntimeClass, o.WriteCounts = "nvidia", true }},
		{"a runtime class of its own", "spec: {schedulerName: tephra, runtimeClassName: own, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, tephra.sh/gpu-slot: 1}}}]}", "",
			func(o *Options) { o.RuntimeClass = "nvidia" }},
	} {
		o := some()
		if test.options != nil {
			test.options(o)
		}
		pod, want := podOf(t, test.pod), podOf(t, test.pod)
		if test.want != "" {
			want = podOf(t, test.want)
		}
		if changed := o.Complete(pod); changed != (test.want != "") || !equality.Semantic.DeepEqual(pod, want) {
			got, _ := yaml.Marshal(pod.Spec)
			t.Errorf("%s: changed %v, got\n%s", test.name, changed, got)
		}
		if test.want != "" && o.Complete(pod) {
			t.Errorf("%s: completed twice", test.name)
		}
	}
}

// ask puts the object to a webhook as the API server does.
func ask(t *testing.T, o *Options, path, kind, text string) *admissionv1.AdmissionResponse {
	t.Helper()
	object, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "u-1", Kind: metav1.GroupVersionKind{Kind: kind}, Object: runtime.RawExtension{Raw: object}}})
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	o.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil || review.Kind != "AdmissionReview" {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	if review.Response.UID != "u-1" {
		t.Errorf("the answer is to %q", review.Response.UID)
	}
	return review.Response
}

func TestPodsGetTheirPodGroupIfTheSchedulerMakesIt(t *testing.T) {
	const pod = "{metadata: {annotations: {mine: kept, batch.kubernetes.io/job-completion-index: '0'}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u-job, controller: true}]}, " +
		"spec: {schedulerName: %s, containers: [{name: a}]}}"
	for _, test := range []struct {
		scheduler string
		groups    bool
		want      string // value of the annotations in the patch; empty: the pod stays as it is
	}{
		{"tephra", true, `{"batch.kubernetes.io/job-completion-index":"0","mine":"kept","scheduling.k8s.io/group-name":"podgroup-u-job"}`},
		{"tephra", false, ""}, {"other", true, ""},
	} {
		o := some()
		o.PodGroups = test.groups
		response := ask(t, o, CompletePath, "Pod", strings.Replace(pod, "%s", test.scheduler, 1))
		if !response.Allowed || (response.Patch != nil) != (test.want != "") || !strings.Contains(string(response.Patch), test.want) {
			t.Errorf("scheduler %s, groups %t: patch %s, expected one with %q", test.scheduler, test.groups, response.Patch, test.want)
		}
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	const contradiction = "containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, volcano.sh/vgpu-number: 1}}}]"
	const sentence = "spec.containers[0].resources.limits[nvidia.com/gpu]: 1, expected none beside volcano.sh/vgpu-number"
	for _, test := range []struct{ name, kind, object, want string }{
		{"of ours", "Pod", "spec: {schedulerName: tephra, " + contradiction + "}", sentence},
		{"that would be ours", "Pod", "spec: {schedulerName: default-scheduler, " + contradiction + "}", sentence},
		{"of another scheduler", "Pod", "spec: {schedulerName: other, " + contradiction + "}", ""},
		{"in words of KAI", "Pod", "{metadata: {annotations: {gpu-fraction: '2'}}, spec: {schedulerName: tephra, containers: [{name: a}]}}",
			`metadata.annotations[gpu-fraction]: "2", expected a number from 0.001 to below 1; whole devices are asked for as nvidia.com/gpu`},
		{"on some nodes it makes sense", "Pod", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/mig-1g.10gb: 1}}}]}", ""},
		{"slots for another scheduler", "Pod", "spec: {schedulerName: default-scheduler, containers: [{name: a, resources: {limits: {tephra.sh/gpu-slot: 40}}}]}",
			"spec.containers[0].resources.limits[tephra.sh/gpu-slot]: 40, expected none in a pod of another scheduler"},
		{"slots beside a contradiction of another scheduler", "Pod", "spec: {schedulerName: other, initContainers: [{name: i, resources: {limits: {tephra.sh/gpu-slot: 1}}}], " + contradiction + "}",
			"spec.initContainers[0].resources.limits[tephra.sh/gpu-slot]: 1, expected none in a pod of another scheduler"},
		{"a slot without devices", "Pod", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {tephra.sh/gpu-slot: 1}}}]}",
			"spec.containers[0].resources.limits[tephra.sh/gpu-slot]: 1, expected none in a container that asks for no devices"},
		{"two slots", "Pod", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1, tephra.sh/gpu-slot: 2}}}]}",
			"spec.containers[0].resources.limits[tephra.sh/gpu-slot]: 2, expected 1, for all devices of the container"},
		{"one slot", "Pod", "spec: {schedulerName: tephra, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8, tephra.sh/gpu-slot: 1}}}]}", ""},
		{"in a task of a Job", "Job", "spec: {schedulerName: tephra, tasks: [{name: ok, template: {spec: {containers: [{name: a}]}}}, {name: x, template: {spec: {" + contradiction + "}}}]}",
			"spec.tasks[1].template." + sentence},
		{"in a Job of another scheduler", "Job", "spec: {schedulerName: other, tasks: [{name: x, template: {spec: {" + contradiction + "}}}]}", ""},
	} {
		response := ask(t, some(), CheckPath, test.kind, test.object)
		if response.Allowed != (test.want == "") || !response.Allowed && (response.Result.Message != test.want || response.Result.Code != 422) {
			t.Errorf("%s: got %+v", test.name, response)
		}
	}
	foreign := some()
	foreign.AllowForeignSlots = true
	if response := ask(t, foreign, CheckPath, "Pod", "spec: {schedulerName: other, containers: [{name: a, resources: {limits: {tephra.sh/gpu-slot: 1}}}]}"); !response.Allowed {
		t.Errorf("foreign slots that the administrator allows: %+v", response)
	}
	if response := ask(t, some(), CheckPath, "Secret", "{}"); response.Allowed || !strings.Contains(response.Result.Message, `kind "Secret", expected Pod or Job`) {
		t.Errorf("another kind: %+v", response)
	}
}

func TestCompletionIsAPatch(t *testing.T) {
	response := ask(t, some(), CompletePath, "Pod", "spec: {schedulerName: default-scheduler, containers: [{name: a, resources: {limits: {nvidia.com/gpumem: 400}}}]}")
	const want = `[{"op":"add","path":"/spec/schedulerName","value":"tephra"},{"op":"add","path":"/spec/containers/0/resources","value":` +
		`{"limits":{"nvidia.com/gpumem":"400","tephra.sh/gpu-slot":"1"},"requests":{"tephra.sh/gpu-slot":"1"}}}]`
	if !response.Allowed || string(response.Patch) != want || response.PatchType == nil || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("got %+v, %s", response, response.Patch)
	}
	response = ask(t, some(), CompletePath, "Pod", "spec: {schedulerName: tephra, containers: [{name: a}]}")
	if !response.Allowed || response.Patch != nil {
		t.Errorf("nothing to complete: %+v", response)
	}
}

func TestWhatIsNoReviewIsAnError(t *testing.T) {
	for _, body := range []string{"", "{", "{}", `{"request": 3}`, strings.Repeat(" ", maxReview+1)} {
		recorder := httptest.NewRecorder()
		some().Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, CheckPath, strings.NewReader(body)))
		if recorder.Code != http.StatusBadRequest {
			t.Errorf("%.20q: %d %s", body, recorder.Code, recorder.Body)
		}
	}
	if response := ask(t, some(), CheckPath, "Pod", "{spec: {containers: 3}}"); response.Allowed || response.Result.Code != 400 {
		t.Errorf("a pod of another shape: %+v", response)
	}
}

// stalled is a body of which nothing comes until it is closed.
func stalled() (io.Reader, func()) {
	reader, writer := io.Pipe()
	return reader, func() { _ = writer.CloseWithError(io.ErrUnexpectedEOF) }
}

func TestReviewsUnderWayAreBoundedTogether(t *testing.T) {
	begun := make(chan struct{}, 3)
	handler := bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		_, _ = io.ReadAll(r.Body)
	}), 50*time.Millisecond)
	send := func(body io.Reader, size int64) int {
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, CheckPath, body)
		request.ContentLength = size
		handler.ServeHTTP(recorder, request)
		return recorder.Code
	}
	var ended sync.WaitGroup
	var ends []func()
	for _, size := range []int64{maxReview, -1} {
		body, end := stalled()
		ends = append(ends, end)
		ended.Go(func() { send(body, size) })
		<-begun
	}
	if code := send(strings.NewReader("{}"), 2); code != http.StatusServiceUnavailable || len(begun) != 0 {
		t.Errorf("a review beside %d bytes: %d, expected 503", mostReviews, code)
	}
	for _, end := range ends {
		end()
	}
	ended.Wait()
	if code := send(strings.NewReader("{}"), 2); code != http.StatusOK {
		t.Errorf("a review afterwards: %d", code)
	}
}
