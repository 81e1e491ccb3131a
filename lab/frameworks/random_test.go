package frameworks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
	"tephra.sh/lab/e2e"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// TestRandomSubmissions submits jobs of all frameworks at random, to two queues that reclaim from each other, and deletes pods
// at random. A gang that starts is whole within `startsWithin`, and every job ends.
func TestRandomSubmissions(t *testing.T) {
	c, running := cluster(t)
	count, _ := strconv.Atoi(os.Getenv("TEPHRA_FRAMEWORKS_JOBS"))
	count = max(count, 20)
	seed, _ := strconv.ParseUint(os.Getenv("TEPHRA_FRAMEWORKS_SEED"), 10, 64)
	dice := rand.New(rand.NewPCG(seed, 1))
	ns := namespace(t, c, running, "random")
	gangs := followGangs(t, c.Kube.CoreV1().Pods(ns).Watch, c.Volcano.SchedulingV1beta1().PodGroups(ns).Watch)
	client, err := dynamic.NewForConfig(c.Config)
	ok(t, err)
	pending := map[string]random{}
	kinds := map[string]int{}
	submit := func(i int) {
		one := randomJob(dice, i)
		kinds[one.kind]++
		for _, text := range strings.Split(one.text, "\n---\n") {
			object := &unstructured.Unstructured{}
			ok(t, yaml.Unmarshal([]byte(text), &object.Object))
			at := one.of(object.GetKind())
			ok(t, e2e.Until(t.Context(), func(ctx context.Context) error { // the Trainer's webhook may not know the runtime yet
				_, err := client.Resource(at).Namespace(ns).Create(ctx, object, metav1.CreateOptions{})
				return err
			}))
		}
		pending[one.name] = one
	}
	deleted := 0
	lose := func() {
		var running []core.Pod
		for _, pod := range given[*core.PodList](t)(c.Kube.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})).Items {
			if pod.Status.Phase == core.PodRunning && pod.DeletionTimestamp == nil && !strings.HasPrefix(pod.Name, "tf") { // see its example
				running = append(running, pod)
			}
		}
		if len(running) == 0 {
			return
		}
		pod := running[dice.IntN(len(running))]
		if err := c.Kube.CoreV1().Pods(ns).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		deleted++
	}
	deadline := time.Now().Add(2*time.Minute + time.Duration(count)*6*time.Second)
	for i := 0; i < count || len(pending) > 0; i++ {
		if i < count {
			submit(i)
		}
		if i%5 == 4 && i < count {
			lose()
		}
		for name, one := range pending {
			ended, err := one.ended(t.Context(), client, ns, gangs)
			ok(t, err)
			if ended {
				delete(pending, name)
			}
		}
		if time.Now().After(deadline) {
			for name, one := range pending {
				object, _ := client.Resource(one.resource).Namespace(ns).Get(t.Context(), name, metav1.GetOptions{})
				t.Errorf("%s %s has not ended: %v", one.kind, name, object.Object["status"])
			}
			break
		}
		time.Sleep(time.Duration(100+dice.IntN(400)) * time.Millisecond)
	}
	for _, wrong := range gangs.wrong() {
		t.Error(wrong)
	}
	t.Logf("random: %d jobs of %d frameworks, %d gangs started whole %d times, %d pods deleted, slowest start %s",
		count, len(kinds), gangs.groups(), gangs.starts, deleted, gangs.slowest.Round(10*time.Millisecond))
	ok(t, c.Clear(context.Background(), ns))
}

// startsWithin is how long a gang may be in part while it starts: the API server takes its bindings one by one.
const startsWithin = 10 * time.Second

// gangs follows how many pods of each PodGroup have nodes.
type gangs struct {
	mutex   sync.Mutex
	least   map[string]int32           // minimum by name of the PodGroup
	pods    map[string]map[string]bool // by PodGroup: UIDs of pods that have nodes and are not deleted, also if they ended
	began   map[string]time.Time       // since when a gang that started is in part
	whole   map[string]bool            // it was whole since it last had no pod
	past    map[string][]string        // what became of the pods of each PodGroup
	said    []string
	starts  int
	slowest time.Duration
}

type watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)

func followGangs(t *testing.T, pods, groups watcher) *gangs {
	t.Helper()
	g := &gangs{least: map[string]int32{}, pods: map[string]map[string]bool{}, began: map[string]time.Time{}, whole: map[string]bool{}, past: map[string][]string{}}
	for _, each := range []watcher{groups, pods} {
		events := given[watch.Interface](t)(each(t.Context(), metav1.ListOptions{}))
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				g.note(event)
			}
		}()
	}
	return g
}

func (g *gangs) note(event watch.Event) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch object := event.Object.(type) {
	case *scheduling.PodGroup:
		if event.Type != watch.Deleted {
			g.least[object.Name] = object.Spec.MinMember
			g.look(object.Name)
		}
	case *core.Pod:
		name := object.Annotations[scheduling.KubeGroupNameAnnotationKey]
		if name == "" {
			return
		}
		if g.pods[name] == nil {
			g.pods[name] = map[string]bool{}
		}
		g.past[name] = append(g.past[name], fmt.Sprintf("%s %s %s on %q %s, deleted: %t", time.Now().Format("05.000"), event.Type, object.Name,
			object.Spec.NodeName, object.Status.Phase, object.DeletionTimestamp != nil))
		if event.Type == watch.Deleted || object.DeletionTimestamp != nil || object.Status.Phase == core.PodFailed {
			delete(g.pods[name], string(object.UID))
		} else if object.Spec.NodeName != "" {
			g.pods[name][string(object.UID)] = true
		}
		g.look(name)
	}
}

// look judges the gang as it is now. REQUIRES: the mutex is held.
func (g *gangs) look(name string) {
	bound, least := int32(len(g.pods[name])), g.least[name]
	switch {
	case bound == 0:
		delete(g.began, name)
		delete(g.whole, name)
	case bound >= least:
		if began, in := g.began[name]; in {
			g.slowest = max(g.slowest, time.Since(began))
		}
		if !g.whole[name] {
			g.starts++
		}
		delete(g.began, name)
		g.whole[name] = true
	case !g.whole[name] && g.began[name].IsZero():
		g.began[name] = time.Now()
	}
	if began, in := g.began[name]; in && time.Since(began) > startsWithin {
		g.said = append(g.said, fmt.Sprintf("PodGroup %s: %d pods have nodes for %s, expected %d within %s; its pods:\n%s",
			name, bound, time.Since(began), least, startsWithin, strings.Join(g.past[name], "\n")))
		delete(g.began, name)
		g.whole[name] = true // said once
	}
}

func (g *gangs) isWhole(prefix string, groups int) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for name, whole := range g.whole {
		if whole && strings.Contains(name, prefix) && int32(len(g.pods[name])) >= g.least[name] {
			groups--
		}
	}
	return groups <= 0
}

func (g *gangs) groups() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return len(g.least)
}

// wrong are the gangs that were in part for too long.
func (g *gangs) wrong() []string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for name := range g.began {
		g.look(name)
	}
	return g.said
}
