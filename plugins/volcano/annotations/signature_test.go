package annotations

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const vectors = "../../../tests/vectors/slices-signature"

var writeVectors = flag.Bool("write", false, "write the test vectors again")

// vector is a signature that the scheduler and the node plugin judge alike: tests/plugins/node/slice_keys_test.cc reads it too.
type vector struct {
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Node      string    `json:"node"`
	Queue     string    `json:"queue"`
	Slices    string    `json:"slices"`
	Created   time.Time `json:"created"`
	Signature string    `json:"signature"`
	Wrong     string    `json:"wrong"` // a part of the error; empty: it counts
}

func privateKey(t *testing.T, path string) ed25519.PrivateKey {
	t.Helper()
	block, err := readPEM(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		t.Fatal(err)
	}
	return key.(ed25519.PrivateKey)
}

// madeVectors: one good pod, and everything that a forger may change of it.
func madeVectors(t *testing.T) []vector {
	t.Helper()
	after, before := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 31, 7, 59, 59, 0, time.UTC)
	good := vector{UID: "0b1c", Node: "node-1", Queue: "research", Created: after,
		Slices: `{"version":1,"containers":[{"name":"main","slices":[{"uuid":"GPU-1","index":0,"mode":"whole","compute":1000,"memoryMiB":81559}]}]}`}
	var all []vector
	add := func(name, wrong, signer string, change func(*vector)) {
		v := good
		v.Name, v.Wrong = name, wrong
		signature, err := sign(privateKey(t, filepath.Join(vectors, signer)), Given{v.UID, v.Node, v.Queue, v.Slices})
		if err != nil {
			t.Fatal(err)
		}
		v.Signature = signature
		if change != nil {
			change(&v)
		}
		all = append(all, v)
	}
	const current, not = "keys/sign.pem", "expected the signature of"
	add("signed by the current key", "", current, nil)
	add("signed by the key before it", "", "previous.pem", nil)
	add("signed, and older than the keys", "", current, func(v *vector) { v.Created = before })
	add("not signed, and older than the keys", "", current, func(v *vector) { v.Created, v.Signature = before, "" })
	add("not signed", "expected the scheduler's signature", current, func(v *vector) { v.Signature = "" })
	add("other slices", not, current, func(v *vector) { v.Slices = strings.Replace(v.Slices, "GPU-1", "GPU-2", 1) })
	add("another queue", not, current, func(v *vector) { v.Queue = "production" })
	add("another node", not, current, func(v *vector) { v.Node = "node-2" })
	add("another pod", not, current, func(v *vector) { v.UID = "0b1d" })
	add("another pod that is older than the keys", not, current, func(v *vector) { v.UID, v.Created = "0b1d", before })
	add("the queue moved into the slices", not, current, func(v *vector) { v.Queue, v.Slices = "", "research\n"+v.Slices })
	add("a line break in the queue", "expected no line break", current, func(v *vector) { v.Queue += "\nx" })
	add("an unknown key", `expected one of`, current, func(v *vector) { v.Signature = "v1.00000000." + v.Signature[12:] })
	add("the other key", not, current, func(v *vector) {
		other, _ := sign(privateKey(t, filepath.Join(vectors, "previous.pem")), Given{})
		v.Signature = other[:12] + v.Signature[12:]
	})
	add("one digit changed", not, current, func(v *vector) {
		digit := byte('0')
		if v.Signature[40] == digit {
			digit = '1'
		}
		v.Signature = v.Signature[:40] + string(digit) + v.Signature[41:]
	})
	add("cut", "expected 128 hexadecimal digits", current, func(v *vector) { v.Signature = v.Signature[:100] })
	add("another version", `expected "v1.KEY.SIGNATURE"`, current, func(v *vector) { v.Signature = "v2" + v.Signature[2:] })
	add("no slices", "", current, func(v *vector) {
		v.Slices = ""
		v.Signature, _ = sign(privateKey(t, filepath.Join(vectors, current)), Given{v.UID, v.Node, v.Queue, ""})
	})
	return all
}

// Signatures are deterministic, so the file is what this program makes.
func TestSignaturesAreJudgedAsTheCommonVectorsSay(t *testing.T) {
	path := filepath.Join(vectors, "vectors.json")
	made, err := json.MarshalIndent(madeVectors(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *writeVectors {
		if err := os.WriteFile(path, append(made, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != string(made)+"\n" {
		t.Fatalf("%s differs from what is made now (%v); write it with -write", path, err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 15 {
		t.Fatal(err, len(all))
	}
	keys, err := OpenKeys(filepath.Join(vectors, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		err := keys.Check(Given{v.UID, v.Node, v.Queue, v.Slices}, v.Signature, v.Created)
		if (err == nil) != (v.Wrong == "") || err != nil && !strings.Contains(err.Error(), v.Wrong) {
			t.Errorf("%s: %v, expected %q", v.Name, err, v.Wrong)
		}
	}
}

func copyKeys(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(vectors, "keys"))); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAKeyThatIsRotatedSignsWithoutARestart(t *testing.T) {
	folder := copyKeys(t)
	keys, err := OpenKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	given := Given{"u", "n", "q", "s"}
	first, err := keys.Sign(given)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(vectors, "previous.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "sign.pem"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	keys.read = keys.read.Add(-readAgainAfter)
	second, err := keys.Sign(given)
	if err != nil || second == first {
		t.Fatalf("%v, signed by the same key", err)
	}
	for _, signature := range []string{first, second} {
		if err := keys.Check(given, signature, time.Now()); err != nil {
			t.Error(err)
		}
	}
	// Once its public key is gone, too, an earlier key no longer counts.
	if err := os.Remove(filepath.Join(folder, "current.pub")); err != nil {
		t.Fatal(err)
	}
	keys.read = keys.read.Add(-readAgainAfter)
	if err := keys.Check(given, first, time.Now()); err == nil {
		t.Error("a key that is gone counts")
	}
	// Files that are wrong for a moment change nothing.
	if err := os.WriteFile(filepath.Join(folder, "sign.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys.read = keys.read.Add(-readAgainAfter)
	if again, err := keys.Sign(given); err != nil || again != second {
		t.Error(err, again)
	}
}

func TestBadKeysAreNamedWithTheirFile(t *testing.T) {
	large := strings.Repeat("x", mostKeyBytes+1)
	for name, change := range map[string]struct{ file, text, expected string }{
		"no key":              {"sign.pem", "x", "sign.pem: expected a key in PEM"},
		"a public key":        {"sign.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "sign.pem: expected a private key of Ed25519"},
		"not a public key":    {"current.pub", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "current.pub: expected a public key of Ed25519"},
		"a large file":        {"x.pub", large, "x.pub: expected at most 4096 bytes"},
		"not a time":          {"since", "yesterday", `since: "yesterday", expected a time such as 2026-01-31T08:00:00Z`},
		"a time of elsewhere": {"since", "2026-01-31T08:00:00+01:00", "expected a time"},
	} {
		folder := copyKeys(t)
		if err := os.WriteFile(filepath.Join(folder, change.file), []byte(change.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKeys(folder); err == nil || !strings.Contains(err.Error(), change.expected) {
			t.Errorf("%s: %v, expected %q", name, err, change.expected)
		}
	}
	if _, err := OpenKeys(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}
