package frameworks_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tephra.sh/lab"
	"tephra.sh/lab/e2e"
	"tephra.sh/lab/frameworks"
)

// One cluster with all controllers serves all tests, one after the other.
var shared struct {
	sync.Once
	cluster *e2e.Cluster
	running *frameworks.Running
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.running != nil {
		shared.running.Stop()
	}
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
	os.Exit(code)
}

// cluster is the shared one: four nodes of eight GPUs in two racks. The tests take minutes and need what
// hack/build-frameworks.sh makes, so hack/test.sh leaves them out.
func cluster(t *testing.T) (*e2e.Cluster, *frameworks.Running) {
	t.Helper()
	if os.Getenv("TEPHRA_TEST_FRAMEWORKS") == "" {
		t.Skip("TEPHRA_TEST_FRAMEWORKS is not set")
	}
	shared.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if shared.err = frameworks.Built(frameworks.Names()...); shared.err != nil {
			return
		}
		if shared.cluster, shared.err = e2e.Start(ctx, e2e.Options{
			SchedulerFlags: []string{"--pod-groups"},
			EngineConfig:   "engine: {reclaim: {patience: 0s}}\n", // a test cannot wait until an eviction loses little work
			Lab:            func(o *lab.Options) { o.Queues = append(o.Queues, lab.Queue{Name: "fill", Weight: 1}) },
		}); shared.err != nil {
			return
		}
		if _, shared.err = shared.cluster.Kubectl(ctx, "", "apply", "-f", "../../manifests/components/pod-groups/rbac.yaml"); shared.err != nil {
			return
		}
		if _, shared.err = shared.cluster.Admit(ctx, "", "--pod-groups"); shared.err != nil {
			return
		}
		shared.running, shared.err = frameworks.Start(ctx, shared.cluster, frameworks.Names()...)
	})
	if errors.Is(shared.err, frameworks.ErrNotBuilt) {
		t.Skip(shared.err)
	}
	ok(t, shared.err)
	return shared.cluster, shared.running
}

var notInAName = regexp.MustCompile(`[^a-z0-9]+`)

// namespace is a new one, which is emptied at the end of the test; what went on there is printed if the test fails.
func namespace(t *testing.T, c *e2e.Cluster, running *frameworks.Running, name string) string {
	t.Helper()
	name = strings.Trim(notInAName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	ok(t, c.MakeNamespace(t.Context(), name))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s%s", c.Story(context.Background(), name), running.Logs())
		}
	})
	return name
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
