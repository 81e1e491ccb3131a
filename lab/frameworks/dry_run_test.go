package frameworks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tephra.sh/lab/frameworks"
)

// Each part is a file. The definitions and webhooks of all frameworks judge it, as they would on a cluster.
func TestExamplesPassADryRun(t *testing.T) {
	c, running := cluster(t)
	ns := namespace(t, c, running, "dry-run")
	some, err := frameworks.Example("jobset.yaml")
	ok(t, err)
	files := given[[]string](t)(filepath.Glob(filepath.Join(filepath.Dir(some), "*.yaml")))
	if len(files) == 0 {
		t.Fatal("no example found")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := given[[]byte](t)(os.ReadFile(file))
			for _, document := range strings.Split(string(text), "\n---\n") {
				_, err := c.Kubectl(t.Context(), document, "apply", "--dry-run=server", "--validate=strict", "-n", ns, "-f", "-")
				ok(t, err)
				if strings.Contains(document, "kind: TrainingRuntime") { // a TrainJob is refused without it
					_, err := c.Kubectl(t.Context(), document, "apply", "-n", ns, "-f", "-")
					ok(t, err)
				}
			}
		})
	}
}
