package kubelet_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab/kubelet"
)

const (
	cycleWorkers    = 4
	mostResidentKiB = 64 << 10
	largePods       = 40
	faultEvery      = 200 * time.Millisecond
	// What stays held so long after the last fault is leaked.
	leakedAfter = 40 * time.Second
)

// driverCalls are the calls that a container's start and end make.
var driverCalls = []string{"nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance", "nvmlGpuInstanceDestroy",
	"nvmlComputeInstanceDestroy", "nvmlDeviceGetGpuInstances"}

// cycler binds and releases pods on a node, some at a time.
type cycler struct {
	t      *testing.T
	node   *kubelet.Node
	mutex  sync.Mutex
	inUse  map[string]string // by UUID that a container sees: its pod
	shared bool              // several containers may see one
	left   int               // cycles
}

func (c *cycler) next() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.left--
	return c.left >= 0
}

// once is the life of one pod; `inside` is what its container does.
func (c *cycler) once(name string, given kubelet.Slice, inside func(sees *kubelet.Sees)) {
	slices := map[string][]kubelet.Slice{"main": {given}}
	pod := kubelet.Annotated(kubelet.Pod(name, slices), kubelet.Annotation(slices))
	c.node.API.Put(pod)
	if err := c.admit(pod); err != nil {
		c.t.Errorf("pod %s: %v", name, err)
	} else if sees := c.create(pod); sees != nil {
		for _, uuid := range sees.UUIDs() {
			c.take(uuid, name)
		}
		inside(sees)
		for _, uuid := range sees.UUIDs() {
			c.give(uuid, name)
		}
	}
	c.node.Kubelet.Gone(pod.UID)
	c.node.Kubelet.Forget(pod.UID)
	c.node.API.Delete(pod.UID)
}

func (c *cycler) admit(pod *core.Pod) (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		c.node.Admission.RLock()
		err = c.node.Kubelet.Admit(pod)
		c.node.Admission.RUnlock()
		if err == nil {
			return nil
		}
	}
	return err
}

func (c *cycler) create(pod *core.Pod) *kubelet.Sees {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		sees, err := c.node.Kubelet.Create(c.t.Context(), pod, "main")
		if err == nil {
			return sees
		}
		if time.Now().After(deadline) {
			c.t.Errorf("pod %s: %v", pod.Name, err)
			return nil
		}
	}
}

func (c *cycler) take(uuid, pod string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if other, taken := c.inUse[uuid]; taken && !c.shared {
		c.t.Errorf("pods %s and %s see %s at a time", other, pod, uuid)
	}
	c.inUse[uuid] = pod
}

func (c *cycler) give(uuid, pod string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.inUse[uuid] == pod {
		delete(c.inUse, uuid)
	}
}

// run lives through the cycles while `fault` strikes again and again, and checks that nothing is left.
func (c *cycler) run(given func(worker, cycle int) kubelet.Slice, inside func(sees *kubelet.Sees, cycle int), fault func(), heal func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(faultEvery):
				fault()
			}
		}
	}()
	var workers sync.WaitGroup
	for w := range cycleWorkers {
		workers.Go(func() {
			for i := 0; c.next(); i++ {
				c.once(fmt.Sprintf("pod-%d-%d", w, i), given(w, i), func(sees *kubelet.Sees) { inside(sees, i) })
			}
		})
	}
	workers.Wait()
	close(stop)
	<-ended
	heal()
	c.nothingLeft()
	for w := range cycleWorkers { // each device works again
		c.once(fmt.Sprintf("afterwards-%d", w), given(w, 0), func(*kubelet.Sees) {})
	}
	c.nothingLeft()
	if kib, err := c.node.Plugin.ResidentKiB(); err != nil || kib > mostResidentKiB {
		c.t.Errorf("the plugin has %d KiB resident (%v), expected at most %d", kib, err, mostResidentKiB)
	} else {
		c.t.Logf("resident at the end: %d KiB", kib)
	}
}

func (c *cycler) nothingLeft() {
	c.t.Helper()
	dir, what := c.node.Plugin.Dir, ""
	for deadline := time.Now().Add(leakedAfter); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		records, _ := filepath.Glob(filepath.Join(dir, "state/records/*"))
		hooks, _ := filepath.Glob(filepath.Join(dir, "state/hook/????????????????????????????????"))
		status, err := c.node.Plugin.Status()
		if err == nil && len(status.Holdings)+len(records)+len(hooks) == 0 {
			return
		}
		what = fmt.Sprintf("%d holdings, %d records, %d folders; %v; problems %+v", len(status.Holdings), len(records), len(hooks), err, status.Problems)
	}
	c.t.Errorf("leaked: %s", what)
}

// TestCyclesUnderFaults binds and releases TEPHRA_NODE_CYCLES pods (60), half of them on MIG instances while the driver
// fails and hangs, half on fractions while containers leave deep folders, the disk is full at times and the plugin is
// killed. With TEPHRA_NODE_SEED.
func TestCyclesUnderFaults(t *testing.T) {
	cycles, seed := environment("TEPHRA_NODE_CYCLES", 60), environment("TEPHRA_NODE_SEED", 1)
	t.Logf("%d cycles, TEPHRA_NODE_SEED=%d", cycles, seed)
	t.Run("driver", func(t *testing.T) { cyclesOfTheDriver(t, cycles/2, uint64(seed)) })
	t.Run("folders", func(t *testing.T) { cyclesOfFolders(t, cycles-cycles/2, uint64(seed)) })
}

func cyclesOfTheDriver(t *testing.T, cycles int, seed uint64) {
	t.Setenv(kubelet.MachineVariable, `{"model": "A100-40GB", "count": 2, "mig": true}`)
	config := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(config, []byte("devices: [{ model: A100, modes: [mig] }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, 2, "--config="+config, "--driver-hung-seconds=1")
	random, faults, kills := rand.New(rand.NewPCG(seed, 0)), 0, 0
	c := &cycler{t: t, node: node, inUse: map[string]string{}, left: cycles}
	control := func(text string) {
		if err := node.Plugin.Control(text); err != nil {
			t.Error(err)
		}
	}
	c.run(func(worker, _ int) kubelet.Slice {
		gpu, first := worker%2, 3*(worker/2)
		return kubelet.Slice{UUID: kubelet.FakeUUID(gpu), Index: gpu, Mode: "mig", Compute: 142, MemoryMiB: 4768, MIG: kubelet.MIG{Profile: "1g.5gb", Start: first}}
	}, func(*kubelet.Sees, int) {}, func() {
		switch random.IntN(8) {
		case 0: // what hangs goes on, and nothing else fails for a while
			control(`{}`)
		case 1:
			kills++
			control(`{}`)
			if err := node.RestartPlugin(syscall.SIGKILL, 0); err != nil {
				t.Error(err)
			}
		default:
			faults++
			how := []string{`"hang": true`, `"error": 19`, `"error": 999`, `"error": 999, "after": true`}[random.IntN(4)]
			control(fmt.Sprintf(`{"faults": [{"function": %q, "call": %d, %s}]}`, driverCalls[random.IntN(len(driverCalls))], 1+random.IntN(2), how))
		}
	}, func() { control(`{}`) })
	t.Logf("driver: %d cycles, %d faults, %d kills", cycles, faults, kills)
}

func cyclesOfFolders(t *testing.T, cycles int, seed uint64) {
	mounted := smallDisk(t)
	node := startNode(t, 2)
	for i := range largePods {
		pod := kubelet.Pod(fmt.Sprintf("large-%d", i), nil)
		pod.Annotations = map[string]string{"note": strings.Repeat("x", 1_000_000)}
		node.API.Put(pod)
	}
	random, fills, kills := rand.New(rand.NewPCG(seed, 1)), 0, 0
	c := &cycler{t: t, node: node, inUse: map[string]string{}, shared: true, left: cycles}
	filler := filepath.Join(mounted, "filler")
	c.run(func(worker, cycle int) kubelet.Slice {
		return kubelet.Fraction(worker%2, 100+cycle%100, 1000+worker)
	}, func(sees *kubelet.Sees, cycle int) {
		cache := sees.Mounts["/usr/local/vgpu/cache"]
		deep := filepath.Join(cache, strings.Repeat("a/", 1+cycle%300))
		if err := os.MkdirAll(deep, 0o777); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", deep, err)
		}
		_ = os.Symlink("/", filepath.Join(cache, "root"))
		_ = os.Chmod(filepath.Join(cache, "a"), 0)
	}, func() {
		switch kind := random.IntN(6); {
		case kind == 0:
			kills++
			if err := node.RestartPlugin(syscall.SIGKILL, 0); err != nil {
				t.Error(err)
			}
		case kind < 3 && mounted != "":
			fills++
			fill(filler)
			time.Sleep(faultEvery)
			_ = os.Remove(filler)
		}
	}, func() { _ = os.Remove(filler) })
	t.Logf("folders: %d cycles, the disk was full %d times (0: this user may not mount one), %d kills", cycles, fills, kills)
}

// smallDisk has the next node live on a file system of its own; empty where this user may not mount one.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "td-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		return ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func fill(path string) {
	file, err := os.Create(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, 1<<16)
	for err == nil {
		_, err = file.Write(block)
	}
}
