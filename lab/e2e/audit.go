package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tephra.sh/lab"
)

// The API server logs the requests of the scheduler's account, without their bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["system:serviceaccount:` + Namespace + `:` + ServiceAccount + `"]}
- {level: None}
`

// audit makes the API server keep an audit log.
func (c *Cluster) audit(options *lab.Options) error {
	policy := filepath.Join(c.Dir, "audit.yaml")
	options.APIServerFlags = append(options.APIServerFlags, "--audit-policy-file="+policy, "--audit-log-path="+c.auditLog())
	return os.WriteFile(policy, []byte(auditPolicy), 0o600)
}

func (c *Cluster) auditLog() string { return filepath.Join(c.Dir, "audit.log") }

// Denied are the requests of the scheduler that RBAC has refused, each once: "create events.k8s.io/events"; and how many
// requests there were.
func (c *Cluster) Denied() (denied []string, requests int, err error) {
	file, err := os.Open(c.auditLog())
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Verb        string
			Annotations map[string]string
			ObjectRef   struct{ APIGroup, Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, requests, fmt.Errorf("%s: %w", file.Name(), err)
		}
		requests++
		about := entry.ObjectRef
		request := strings.TrimSuffix(entry.Verb+" "+about.APIGroup+"/"+about.Resource+"/"+about.Subresource, "/")
		if entry.Annotations["authorization.k8s.io/decision"] != "allow" && !slices.Contains(denied, request) {
			denied = append(denied, request)
		}
	}
	return denied, requests, lines.Err()
}
