package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// auditEntry is what matters of one line of the log.
type auditEntry struct {
	Verb      string
	ObjectRef struct{ APIGroup, Resource, Subresource, Namespace string }
}

func (e auditEntry) resource() string {
	return strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")
}

// Beyond are the requests of the scheduler that no rule of its roles grants, each once, as "create events.k8s.io/events"; and
// how many requests there were. The decisions in the log are not enough: an API server that just started has not read its
// roles, and refuses everything.
func (c *Cluster) Beyond(ctx context.Context) (beyond []string, requests int, err error) {
	roles, err := c.rules(ctx)
	if err != nil {
		return nil, 0, err
	}
	file, err := os.Open(c.auditLog())
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry auditEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, requests, fmt.Errorf("%s: %w", file.Name(), err)
		}
		if entry.ObjectRef.Resource == "" {
			continue // such as /version, which every account may read
		}
		requests++
		request := entry.Verb + " " + entry.ObjectRef.APIGroup + "/" + entry.resource()
		if !roles.grant(entry) && !slices.Contains(beyond, request) {
			beyond = append(beyond, request)
		}
	}
	return beyond, requests, lines.Err()
}

// rules are those of the scheduler's roles, by namespace; "" is everywhere.
type rules map[string][]rbac.PolicyRule

func (c *Cluster) rules(ctx context.Context) (rules, error) {
	all := rules{}
	everywhere, err := c.Kube.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, role := range everywhere.Items {
		if strings.HasPrefix(role.Name, ServiceAccount) {
			all[""] = append(all[""], role.Rules...)
		}
	}
	some, err := c.Kube.RbacV1().Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, role := range some.Items {
		if strings.HasPrefix(role.Name, ServiceAccount) {
			all[role.Namespace] = append(all[role.Namespace], role.Rules...)
		}
	}
	return all, nil
}

func (r rules) grant(entry auditEntry) bool {
	granted := func(rule rbac.PolicyRule) bool {
		return slices.Contains(rule.Verbs, entry.Verb) && slices.Contains(rule.APIGroups, entry.ObjectRef.APIGroup) &&
			slices.Contains(rule.Resources, entry.resource())
	}
	return slices.ContainsFunc(r[""], granted) ||
		entry.ObjectRef.Namespace != "" && slices.ContainsFunc(r[entry.ObjectRef.Namespace], granted)
}
