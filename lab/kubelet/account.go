package kubelet

import (
	"context"
	"os"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Account makes a service account with the rights of manifests/components/node, and writes its token.
func Account(ctx context.Context, client kubernetes.Interface, file string) error {
	name := "tephra-node"
	meta := metav1.ObjectMeta{Name: name, Namespace: "default"}
	_, err := client.CoreV1().ServiceAccounts("default").Create(ctx, &core.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		rules := []rbac.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: []string{"get", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}}}
		_, err = client.RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbac.Subject{{Kind: rbac.ServiceAccountKind, Namespace: "default", Name: name}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, name, &authentication.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(token.Status.Token), 0o600)
}
