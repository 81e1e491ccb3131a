package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const (
	memory    = "tephra-memory"
	memoryKey = "memory.json"
)

// remembering is an engine that counts past usage, and its scheduler, in the place of the shared ones.
func remembering(t *testing.T, c *e2e.Cluster) (*e2e.Engine, *e2e.Scheduler) {
	t.Helper()
	engine := given[*e2e.Engine](t)(c.NewEngine("remembers-engine", "engine: {usage_half_life: 15m}\n"))
	t.Cleanup(engine.Kill)
	ok(t, engine.Start(t.Context()))
	scheduler := given[*e2e.Scheduler](t)(c.NewScheduler("remembers", engine))
	t.Cleanup(func() {
		_ = c.Kube.CoreV1().ConfigMaps(e2e.Namespace).Delete(context.Background(), memory, metav1.DeleteOptions{})
	})
	instead(t, c, scheduler)
	ok(t, scheduler.IsReady(t.Context()))
	return engine, scheduler
}

// kept returns the record once it has that text in it.
func kept(t *testing.T, c *e2e.Cluster, text string) (record string) {
	t.Helper()
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		found, err := c.Kube.CoreV1().ConfigMaps(e2e.Namespace).Get(ctx, memory, metav1.GetOptions{})
		if err == nil && !strings.Contains(found.Data[memoryKey], text) {
			err = fmt.Errorf("ConfigMap %s: %q, expected %s in it", memory, found.Data[memoryKey], text)
		}
		if err == nil {
			record = found.Data[memoryKey]
		}
		return err
	}))
	return record
}

// knows returns once the engine knows of something that the user used in queue research.
func knows(t *testing.T, engine *e2e.Engine, user string) {
	t.Helper()
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		var state struct {
			Queues []struct {
				Name  string
				Users []struct {
					User         string
					PastGPUHours float64
				}
			}
		}
		text, err := engine.Tephra(ctx, "top", "queues", "--output", "json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &state)
		}
		for _, queue := range state.Queues {
			for _, of := range queue.Users {
				if queue.Name == "research" && of.User == user && of.PastGPUHours > 0 {
					return nil
				}
			}
		}
		return fmt.Errorf("tephra top queues, expected past use of %s: %s (%w)", user, text, err)
	}))
}

func TestWhatAUserUsedIsRememberedByTheNextSchedulerAndEngine(t *testing.T) {
	c, ns := on(t)
	engine, scheduler := remembering(t, c)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").With(func(job *batch.Job) {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, "tephra.sh/user", "ada@example.com")
	}).Task("worker", 4, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	kept(t, c, `"user":"ada@example.com"`)
	ok(t, c.Volcano.BatchV1alpha1().Jobs(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		if pods, err := c.Kube.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{}); err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("pods %d, expected none (%w)", len(pods.Items), err)
		}
		return nil
	}))
	scheduler.Kill()
	ok(t, engine.Restart(t.Context()))
	ok(t, scheduler.Restart(t.Context()))
	knows(t, engine, "ada@example.com") // whose job is gone
	ok(t, engine.Restart(t.Context()))
	knows(t, engine, "ada@example.com")
}

func TestAMemoryThatCannotBeReadStopsNothing(t *testing.T) {
	c, ns := on(t)
	said := events(t, c, "MemoryNotRead")
	_, err := c.Kube.CoreV1().ConfigMaps(e2e.Namespace).Create(t.Context(), &core.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: memory}, Data: map[string]string{memoryKey: `{"version":7}`}}, metav1.CreateOptions{})
	ok(t, err)
	_, scheduler := remembering(t, c)
	if want := "ConfigMap tephra-system/tephra-memory: data[memory.json]: version: 7, expected 1"; !strings.Contains(scheduler.Said(), want) {
		t.Errorf("the log does not say %q", want)
	}
	ok(t, e2e.Until(t.Context(), func(context.Context) error {
		if now := events(t, c, "MemoryNotRead"); now != said+1 {
			return fmt.Errorf("%d events MemoryNotRead, expected 1", now-said)
		}
		return nil
	}))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	kept(t, c, `"queue":"research"`)
	if said := events(t, c, "MemoryNotWritten"); said > 0 {
		t.Errorf("%d events MemoryNotWritten", said)
	}
}
