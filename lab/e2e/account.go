package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// The service account of manifests/base.
const (
	Namespace      = "tephra-system"
	ServiceAccount = "tephra-scheduler"
)

// Kinds of the manifests that a lab does not need: the programs run beside it, not in it.
var runsOutside = []string{"Deployment", "Service", "ConfigMap"}

// installAccount applies what manifests/base says of rights and admission, and returns the path of a
// kubeconfig with a token of its service account.
func (c *Cluster) installAccount(ctx context.Context) (string, error) {
	base := filepath.Join(c.programs.Manifests, "base")
	built, err := c.Kubectl(ctx, "", "kustomize", base)
	if err != nil {
		return "", err
	}
	var wanted []string
	for _, document := range strings.Split(built, "\n---\n") {
		var object metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return "", fmt.Errorf("%s: %w", base, err)
		}
		if !slices.Contains(runsOutside, object.Kind) {
			wanted = append(wanted, document)
		}
	}
	if _, err := c.Kubectl(ctx, strings.Join(wanted, "\n---\n"), "apply", "-f", "-"); err != nil {
		return "", err
	}
	hours := int64(12 * 3600)
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &hours}}
	token, err := c.Kube.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s/%s: %w", Namespace, ServiceAccount, err)
	}
	config, err := clientcmd.LoadFromFile(c.Lab.Kubeconfig)
	if err != nil {
		return "", err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(c.Dir, "scheduler.kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// Kubectl runs kubectl as the administrator with that standard input.
func (c *Cluster) Kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	return c.tool(ctx, c.programs.Kubectl, input, arguments)
}

// Vcctl runs Volcano's command line as the administrator.
func (c *Cluster) Vcctl(ctx context.Context, arguments ...string) (string, error) {
	return c.tool(ctx, c.programs.Vcctl, "", arguments)
}

func (c *Cluster) tool(ctx context.Context, path, input string, arguments []string) (string, error) {
	command := exec.CommandContext(ctx, path, append(arguments, "--kubeconfig="+c.Lab.Kubeconfig)...)
	command.Stdin = strings.NewReader(input)
	var out, wrong bytes.Buffer
	command.Stdout, command.Stderr = &out, &wrong
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(path), strings.Join(arguments, " "), err,
			strings.TrimSpace(wrong.String()+out.String()))
	}
	return out.String(), nil
}
