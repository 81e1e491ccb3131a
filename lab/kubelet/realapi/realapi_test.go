// Package realapi_test has a tephra-node watch the pods of a real kube-apiserver.
package realapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"tephra.sh/lab"
	"tephra.sh/lab/components"
	"tephra.sh/lab/kubelet"
)

func TestMain(m *testing.M) {
	components.RunIfAsked()
	os.Exit(m.Run())
}

// put creates the pod, and gives it the UID that the API server has for it.
func put(t *testing.T, client kubernetes.Interface, pod *core.Pod) *core.Pod {
	t.Helper()
	asked := pod.DeepCopy()
	asked.UID = ""
	for _, containers := range [][]core.Container{asked.Spec.InitContainers, asked.Spec.Containers} {
		for i := range containers {
			containers[i].Image = "none"
			containers[i].Resources.Requests = containers[i].Resources.Limits
		}
	}
	created, err := client.CoreV1().Pods("default").Create(t.Context(), asked, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func expectSeen(t *testing.T, node *kubelet.Node, pod *core.Pod, given []kubelet.Slice) {
	t.Helper()
	if err := node.Kubelet.Admit(pod); err != nil {
		t.Fatal(err)
	}
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var sees *kubelet.Sees
		if sees, last = node.Kubelet.Create(t.Context(), pod, "main"); last == nil {
			if differs := sees.Differs(given); differs != "" {
				t.Error(differs)
			}
			return
		}
	}
	t.Fatal(last)
}

// expectPublished waits until the node says of its two GPUs that they are well or not, in all the forms that
// other programs read.
func expectPublished(t *testing.T, client kubernetes.Interface, healthy ...string) {
	t.Helper()
	var last string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		node, err := client.CoreV1().Nodes().Get(t.Context(), kubelet.NodeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var inventory struct {
			Version int
			Devices []struct {
				UUID    string
				Healthy bool
			}
		}
		last = fmt.Sprintf("annotations %v, labels %v, capacity %v", node.Annotations, node.Labels, node.Status.Capacity)
		if json.Unmarshal([]byte(node.Annotations["tephra.sh/gpu-inventory"]), &inventory) != nil || inventory.Version != 1 || len(inventory.Devices) != len(healthy) {
			continue
		}
		as := true
		for i, device := range inventory.Devices {
			as = as && device.UUID == kubelet.UUID(i) && fmt.Sprint(device.Healthy) == healthy[i] &&
				strings.Contains(node.Annotations["volcano.sh/node-vgpu-register"], kubelet.UUID(i))
		}
		slots := node.Status.Capacity["volcano.sh/vgpu-number"]
		if as && slots.Value() == 200 && node.Labels["nvidia.com/gpu.count"] == "2" {
			return
		}
	}
	t.Fatalf("healthy %v is not published: %s", healthy, last)
}

// expectEvent waits for an event about the object.
func expectEvent(t *testing.T, client kubernetes.Interface, kind, name, reason, text string) {
	t.Helper()
	var all string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = ""
		for _, event := range events.Items {
			about := event.InvolvedObject
			if about.Kind == kind && about.Name == name && event.Reason == reason && strings.Contains(event.Message, text) {
				return
			}
			all += fmt.Sprintf("%s %s %s: %s\n", about.Kind, about.Name, event.Reason, event.Message)
		}
	}
	t.Fatalf("no event %s about %s %s with %q:\n%s", reason, kind, name, text, all)
}

func TestPodsOfARealAPIServer(t *testing.T) {
	options := lab.Defaults()
	options.Nodes.Count, options.Nodes.Racks, options.Admission, options.ServiceAccountTokens = 1, 1, false, false
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	running, err := lab.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	client, err := kubernetes.NewForConfig(running.Config)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tn-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "plugin.log"))
			t.Log(string(log))
		}
		_ = os.RemoveAll(dir)
	})
	if err := kubelet.Account(ctx, client, filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	node := &core.Node{ObjectMeta: metav1.ObjectMeta{Name: kubelet.NodeName}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	given := func(i int) map[string][]kubelet.Slice {
		return map[string][]kubelet.Slice{"main": {kubelet.Fraction(i%2, 1, 100+i)}}
	}
	pod := func(i int) *core.Pod {
		return kubelet.Annotated(kubelet.Pod(fmt.Sprintf("pod-%d", i), given(i)), kubelet.Annotation(given(i)))
	}
	var pods []*core.Pod // more than one page of a list
	for i := range 230 {
		pods = append(pods, put(t, client, pod(i)))
	}
	api := &kubelet.API{
		URL: running.Config.Host, CA: filepath.Join(running.Dir, "pki", "ca.crt"), Token: filepath.Join(dir, "token"),
	}
	play, err := kubelet.StartNodeOf(api, dir, 2, "--blocked-after-seconds=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(play.Stop)
	expectPublished(t, client, "true", "true")
	file := filepath.Join(dir, "gpus.json")
	well, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) { // by a rename, so that half of it is never read
		err := os.WriteFile(file+".new", []byte(text), 0o600)
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(string(well), `"numa":1`, `"numa":1,"unhealthy":"a test"`, 1))
	expectPublished(t, client, "true", "false")
	expectEvent(t, client, "Node", kubelet.NodeName, "GPUUnhealthy", "GPU 1 ("+kubelet.UUID(1)+") takes no new container: a test")
	write(string(well))
	expectPublished(t, client, "true", "true")
	expectEvent(t, client, "Node", kubelet.NodeName, "GPUHealthy", "takes containers again")
	// A kubelet that begins sets resources that are not its own to zero.
	zero := []byte(`{"status":{"capacity":{"volcano.sh/vgpu-number":"0"}}}`)
	if _, err := client.CoreV1().Nodes().Patch(ctx, kubelet.NodeName, types.MergePatchType, zero, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if err := play.RestartKubelet(); err != nil {
		t.Fatal(err)
	}
	expectPublished(t, client, "true", "true")
	for _, i := range []int{0, 115, 229} {
		expectSeen(t, play, pods[i], given(i)["main"])
	}
	write(strings.Replace(string(well), `"numa":1`, `"numa":1,"unhealthy":"a test"`, 1))
	expectEvent(t, client, "Pod", pods[115].Name, "GPUUnhealthy", "containers main (fraction) there")
	write(string(well))
	expectPublished(t, client, "true", "true")
	status, err := play.Plugin.Status()
	if err != nil || status.Lists != 1 {
		t.Errorf("%+v, %v, expected one list", status, err)
	}

	late := kubelet.Pod("late", given(500))
	late = put(t, client, late)
	go func() {
		time.Sleep(time.Second)
		late := kubelet.Annotated(late, kubelet.Annotation(given(500)))
		_, _ = client.CoreV1().Pods("default").Update(context.Background(), late, metav1.UpdateOptions{})
	}()
	expectSeen(t, play, late, given(500)["main"])

	if err := running.StopComponent("kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	if err := running.StartComponent(ctx, "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	stuck := put(t, client, pod(600))
	expectSeen(t, play, stuck, given(600)["main"])

	// A container that outlives its pod blocks its GPU until it ends.
	now := int64(0)
	if err := client.CoreV1().Pods("default").Delete(ctx, stuck.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	expectPublished(t, client, "false", "true")
	play.Kubelet.Gone(stuck.UID)
	expectPublished(t, client, "true", "true")
}
