package kubelet_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tephra.sh/lab/kubelet"
)

// released waits until no container has slices.
func released(t *testing.T, node *kubelet.Node) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status, err := node.Plugin.Status()
		if err == nil && len(status.Holdings) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d slices are held by containers that have ended (%v): %+v", len(status.Holdings), err, status.Problems)
		}
	}
}

// A tenant may write what it likes into its limits cache: deep folders, folders without permissions, links.
// Its slices are free when its pod is gone, and the folder is removed later, also by the next process.
func TestFaultFolderKeepsAGPU(t *testing.T) {
	node := startNode(t, 1)
	part := map[string][]kubelet.Slice{"main": {kubelet.Fraction(0, 900, 80000)}}
	for i, signal := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		tenant := kubelet.Annotated(kubelet.Pod(fmt.Sprintf("tenant-%d", i), part), kubelet.Annotation(part))
		bind(t, node, tenant)
		cache := create(t, node, tenant, "main").Mounts["/usr/local/vgpu/cache"]
		if err := os.MkdirAll(filepath.Join(cache, strings.Repeat("a/", 100)), 0o777); err != nil { // as the container does
			t.Fatal(err)
		}
		for _, err := range []error{
			os.Symlink("/", filepath.Join(cache, "a/root")),
			syscall.Mkfifo(filepath.Join(cache, "a/pipe"), 0),
			os.Chmod(filepath.Join(cache, "a/a"), 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		node.API.Delete(tenant.UID)
		node.Kubelet.Forget(tenant.UID)
		node.Kubelet.Gone(tenant.UID)
		if signal != 0 {
			if err := node.RestartPlugin(signal, 0); err != nil {
				t.Fatal(err)
			}
		}
		released(t, node)
		hook := filepath.Dir(cache)
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			left, err := os.ReadDir(hook)
			if err == nil && len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v, %v, expected none", hook, left, err)
			}
		}
	}
}

// Pods of any size, and as many as a node may have, do not keep the plugin from seeing the next pod.
func TestFaultLargePods(t *testing.T) {
	node := startNode(t, 1)
	large := strings.Repeat("x", 1_200_000)
	for i := range 60 {
		pod := kubelet.Pod(fmt.Sprintf("large-%d", i), nil)
		pod.Annotations = map[string]string{"note": large}
		node.API.Put(pod)
	}
	if err := node.RestartPlugin(syscall.SIGKILL, 0); err != nil { // it lists all of them
		t.Fatal(err)
	}
	whole := map[string][]kubelet.Slice{"main": {kubelet.Whole(0)}}
	pod := kubelet.Annotated(kubelet.Pod("small", whole), kubelet.Annotation(whole))
	bind(t, node, pod)
	expect(t, create(t, node, pod, "main"), whole["main"])
	if status, err := node.Plugin.Status(); err != nil || status.APIFault != "" {
		t.Errorf("API server: %q, %v", status.APIFault, err)
	}
}

// Connections that are idle, or that send a byte at a time, do not keep a probe from its answer.
func TestFaultIdleConnections(t *testing.T) {
	node := startNode(t, 1, "--metrics-address=127.0.0.1:0")
	address, err := node.Plugin.Address()
	if err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	defer func() {
		for _, connection := range held {
			_ = connection.Close()
		}
	}()
	for i := range 400 {
		connection, err := net.DialTimeout("tcp", address, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, connection)
		if i%2 == 0 {
			_, _ = connection.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "))
		}
	}
	for range 9 {
		for _, connection := range held {
			_, _ = connection.Write([]byte("a"))
		}
		for _, path := range []string{"/healthz", "/metrics"} {
			began := time.Now()
			if code, _, err := node.Plugin.Get(path); code != 200 || err != nil || time.Since(began) > 5*time.Second {
				t.Errorf("%s: %d, %v, after %v", path, code, err, time.Since(began))
			}
		}
	}
}
