package kubelet_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/kubelet"
)

// signer is a scheduler with a key; docs/reference/annotations.md says what it signs.
type signer struct {
	private ed25519.PrivateKey
	name    string
}

// newSigner writes the public key into the folder, as a node has it.
func newSigner(t *testing.T, path string) signer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: bytes}), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	return signer{private, hex.EncodeToString(sum[:4])}
}

func (s signer) sign(pod *core.Pod) *core.Pod {
	pod = pod.DeepCopy()
	text := "tephra.sh/slices-signature v1\n" + string(pod.UID) + "\n" + pod.Spec.NodeName + "\n" + pod.Annotations["tephra.sh/queue"] + "\n" + pod.Annotations[kubelet.SlicesKey]
	pod.Annotations["tephra.sh/slices-signature"] = "v1." + s.name + "." + hex.EncodeToString(ed25519.Sign(s.private, []byte(text)))
	return pod
}

// A container gets slices only if the scheduler signed them for its pod on this node.
func TestFaultForgedSlicesGetNoGPU(t *testing.T) {
	keys := t.TempDir()
	current := newSigner(t, filepath.Join(keys, "current.pub"))
	if err := os.WriteFile(filepath.Join(keys, "since"), []byte("2026-01-31T08:00:00Z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, 2, "--slices-keys="+keys)
	given := func(name string) *core.Pod {
		pod := kubelet.Annotated(kubelet.Pod(name, onePart), kubelet.Annotation(onePart))
		pod.Annotations["tephra.sh/queue"] = "research"
		pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
		return pod
	}
	end := func(pod *core.Pod) {
		node.API.Delete(pod.UID)
		node.Kubelet.Forget(pod.UID)
		node.Kubelet.Gone(pod.UID)
	}
	gets := func(pod *core.Pod) {
		t.Helper()
		bind(t, node, pod)
		expect(t, create(t, node, pod, "main"), onePart["main"])
		end(pod)
	}
	getsNone := func(pod *core.Pod) {
		t.Helper()
		bind(t, node, pod)
		if sees, err := node.Kubelet.Create(t.Context(), pod, "main"); err == nil {
			t.Errorf("pod %s sees %v", pod.Name, sees.UUIDs())
		}
		end(pod)
		gets(current.sign(given("good")))
	}

	gets(current.sign(given("good")))
	getsNone(given("unsigned"))
	older := given("older")
	older.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 31, 7, 59, 59, 0, time.UTC))
	gets(older)
	for name, forge := range map[string]func(*core.Pod){
		"other slices": func(p *core.Pod) {
			p.Annotations[kubelet.SlicesKey] = kubelet.Annotation(map[string][]kubelet.Slice{"main": {kubelet.Whole(1)}})
		},
		"another queue": func(p *core.Pod) { p.Annotations["tephra.sh/queue"] = "production" },
		"of another pod": func(p *core.Pod) {
			p.Annotations["tephra.sh/slices-signature"] = current.sign(given("other")).Annotations["tephra.sh/slices-signature"]
		},
		"not a signature": func(p *core.Pod) { p.Annotations["tephra.sh/slices-signature"] = "v1" },
	} {
		t.Run(name, func(*testing.T) {
			pod := current.sign(given("forged"))
			forge(pod)
			getsNone(pod)
		})
	}
	elsewhere := given("elsewhere")
	elsewhere.Spec.NodeName = "node-b"
	elsewhere = current.sign(elsewhere)
	elsewhere.Spec.NodeName = kubelet.NodeName
	getsNone(elsewhere)

	// Keys are replaced while the plugin runs.
	next := newSigner(t, filepath.Join(keys, "next.pub"))
	gets(next.sign(given("next")))
	gets(current.sign(given("still-good")))
	if err := os.Remove(filepath.Join(keys, "current.pub")); err != nil {
		t.Fatal(err)
	}
	pod := current.sign(given("late"))
	bind(t, node, pod)
	if sees, err := node.Kubelet.Create(t.Context(), pod, "main"); err == nil {
		t.Errorf("a key that is gone gives %v", sees.UUIDs())
	}
	end(pod)
	gets(next.sign(given("last")))
}
