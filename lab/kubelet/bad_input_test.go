package kubelet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	core "k8s.io/api/core/v1"
	"tephra.sh/lab/kubelet"
)

var onePart = map[string][]kubelet.Slice{"main": {kubelet.Fraction(0, 100, 1000)}}

// refused: the container is not created, with these words, and others are, all the while.
func refused(t *testing.T, node *kubelet.Node, pod *core.Pod, words string) {
	t.Helper()
	bind(t, node, pod)
	sees, err := node.Kubelet.Create(t.Context(), pod, "main")
	switch {
	case err == nil:
		t.Errorf("it sees %v", sees.UUIDs())
	case !strings.Contains(err.Error(), words):
		t.Errorf("%v, expected %q", err, words)
	}
	node.API.Delete(pod.UID)
	node.Kubelet.Forget(pod.UID)
	node.Kubelet.Gone(pod.UID)
	other := kubelet.Annotated(kubelet.Pod("good", onePart), kubelet.Annotation(onePart))
	bind(t, node, other)
	expect(t, create(t, node, other, "main"), onePart["main"])
	node.API.Delete(other.UID)
	node.Kubelet.Forget(other.UID)
	node.Kubelet.Gone(other.UID)
}

func TestBadAnnotations(t *testing.T) {
	node := startNode(t, 2)
	good := kubelet.Annotation(onePart)
	for name, one := range map[string]struct{ text, words string }{
		"not JSON":           {"{", "a JSON object"},
		"too long":           {good + strings.Repeat(" ", 65<<10), "at most 64 KiB"},
		"deep":               {strings.Repeat("[", 60<<10), "a JSON object"},
		"another version":    {strings.Replace(good, `"version":1`, `"version":2`, 1), "version"},
		"a path for a name":  {strings.Replace(good, "main", "../../etc", 1), "the container's name"},
		"a path for a UUID":  {strings.Replace(good, kubelet.UUID(0), "../../etc", 1), "the UUID of a device"},
		"a GPU of elsewhere": {strings.Replace(good, kubelet.UUID(0), "GPU-elsewhere", 1), "this node has no GPU GPU-elsewhere"},
		"a mode not had":     {strings.Replace(good, "fraction", "mps", 1), `the mode \"mps\"`},
		"more than there is": {strings.Replace(good, `"memoryMiB":1000`, `"memoryMiB":999999`, 1), "has 81559 MiB to give"},
		"another container":  {strings.Replace(good, "main", "other", 1), "requests a slot, but has no slice"},
		"a GPU twice":        {kubelet.Annotation(map[string][]kubelet.Slice{"main": {kubelet.Whole(1), kubelet.Whole(1)}}), "is given to the container twice"},
		"negative":           {strings.Replace(good, `"memoryMiB":1000`, `"memoryMiB":-5`, 1), "memoryMiB"},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.ReplaceAll(one.words, `\"`, `"`)
			refused(t, node, kubelet.Annotated(kubelet.Pod("bad", onePart), one.text), words)
		})
	}
	t.Run("of another scheduler", func(t *testing.T) {
		pod := kubelet.Annotated(kubelet.Pod("bad", onePart), good)
		pod.Spec.SchedulerName = "default-scheduler"
		refused(t, node, pod, "scheduled by default-scheduler, and no GPU of this node is reserved for it")
	})
}

func TestBadFiles(t *testing.T) {
	node := startNode(t, 2)
	start := func(t *testing.T) *core.Pod {
		pod := kubelet.Annotated(kubelet.Pod("one", onePart), kubelet.Annotation(onePart))
		bind(t, node, pod)
		t.Cleanup(func() {
			node.API.Delete(pod.UID)
			node.Kubelet.Forget(pod.UID)
			node.Kubelet.Gone(pod.UID)
		})
		return pod
	}
	fails := func(t *testing.T, pod *core.Pod, words string) {
		if _, err := node.Kubelet.Create(t.Context(), pod, "main"); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, expected %q", err, words)
		}
	}
	path := func(parts ...string) string { return filepath.Join(append([]string{node.Plugin.Dir}, parts...)...) }
	checkpoint := path("device-plugins/kubelet_internal_checkpoint")
	for name, change := range map[string]func(string) string{
		"a checkpoint cut short":          func(text string) string { return text[:len(text)/2] },
		"a checkpoint of another version": func(text string) string { return strings.ReplaceAll(text, "DeviceIDs", "Devices") },
		"a checkpoint with hostile names": func(text string) string { return strings.ReplaceAll(text, `"main"`, `"../../x"`) },
	} {
		t.Run(name, func(t *testing.T) {
			pod := start(t)
			good, err := os.ReadFile(checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, checkpoint, change(string(good)))
			fails(t, pod, "kubelet checkpoint: ")
			rewrite(t, checkpoint, string(good))
			expect(t, create(t, node, pod, "main"), onePart["main"])
		})
	}
	t.Run("a full disk", func(t *testing.T) {
		pod := start(t)
		pid := node.Plugin.Pid()
		var before unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Max: unix.RLIM_INFINITY}, &before); err != nil {
			t.Fatal(err)
		}
		fails(t, pod, "cannot be written")
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &before, nil); err != nil {
			t.Fatal(err)
		}
		expect(t, create(t, node, pod, "main"), onePart["main"])
	})
	t.Run("a link in the place of the CDI file", func(t *testing.T) {
		secret := path("secret")
		rewrite(t, secret, "secret")
		spec := path("cdi/tephra.sh-slice.json")
		_ = os.Remove(spec)
		if err := os.Symlink(secret, spec); err != nil {
			t.Fatal(err)
		}
		pod := start(t)
		expect(t, create(t, node, pod, "main"), onePart["main"])
		if text, _ := os.ReadFile(secret); string(text) != "secret" {
			t.Errorf("the file that the link leads to holds %q now", text)
		}
	})
	t.Run("an API server that is away", func(t *testing.T) {
		running := start(t)
		expect(t, create(t, node, running, "main"), onePart["main"])
		node.API.Down(true)
		expect(t, create(t, node, running, "main"), onePart["main"]) // again, as after its end
		pod := start(t)
		go func() {
			time.Sleep(500 * time.Millisecond)
			node.API.Down(false)
		}()
		expect(t, create(t, node, pod, "main"), onePart["main"])
	})
}

// As after an update of the kubelet that writes its checkpoint in another shape.
func TestBadCheckpointBesidePodResources(t *testing.T) {
	node := startNode(t, 2)
	if err := node.Kubelet.ServePodResources(); err != nil {
		t.Fatal(err)
	}
	checkpoint := filepath.Join(node.Plugin.Dir, "device-plugins/kubelet_internal_checkpoint")
	spoil := func() {
		good, err := os.ReadFile(checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		rewrite(t, checkpoint, strings.ReplaceAll(string(good), "DeviceIDs", "Devices"))
	}
	given := map[string][]kubelet.Slice{"main": {kubelet.Whole(0)}, "helper": {kubelet.Fraction(1, 100, 1000)}}
	first := kubelet.Annotated(kubelet.Pod("one", given), kubelet.Annotation(given))
	bind(t, node, first)
	spoil()
	for _, container := range []string{"main", "helper", "main"} {
		expect(t, create(t, node, first, container), given[container])
	}
	// Its slots, and its name, are another pod's after it.
	node.API.Delete(first.UID)
	node.Kubelet.Forget(first.UID)
	node.Kubelet.Gone(first.UID)
	next := map[string][]kubelet.Slice{"main": {kubelet.Fraction(0, 200, 2000)}, "helper": {kubelet.Whole(1)}}
	second := kubelet.Annotated(kubelet.Pod("one", next), kubelet.Annotation(next))
	bind(t, node, second)
	spoil()
	for container, slices := range next {
		expect(t, create(t, node, second, container), slices)
	}
}

func TestBadFileSystem(t *testing.T) {
	dir, err := os.MkdirTemp("", "tn-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	records := filepath.Join(dir, "state/records")
	if err := os.MkdirAll(records, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(records, records, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("to mount takes rights that this process lacks: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(records, unix.MNT_DETACH) })
	readOnly := func(flag uintptr) {
		if err := unix.Mount("", records, "", unix.MS_REMOUNT|unix.MS_BIND|flag, ""); err != nil {
			t.Fatal(err)
		}
	}
	node, err := kubelet.StartNode(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Stop)
	running := kubelet.Annotated(kubelet.Pod("running", onePart), kubelet.Annotation(onePart))
	bind(t, node, running)
	expect(t, create(t, node, running, "main"), onePart["main"])
	readOnly(unix.MS_RDONLY)
	expect(t, create(t, node, running, "main"), onePart["main"]) // again, as after its end
	pod := kubelet.Annotated(kubelet.Pod("new", onePart), kubelet.Annotation(onePart))
	bind(t, node, pod)
	if _, err := node.Kubelet.Create(t.Context(), pod, "main"); err == nil || !strings.Contains(err.Error(), "cannot be written: Read-only file system") {
		t.Errorf("%v, expected that its record cannot be written", err)
	}
	if status, err := node.Plugin.Status(); err != nil || len(status.Holdings) != 1 {
		t.Errorf("%+v, %v, expected what runs and no more", status.Holdings, err)
	}
	readOnly(0)
	expect(t, create(t, node, pod, "main"), onePart["main"])
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	fresh := path + ".test"
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}
