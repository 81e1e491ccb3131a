package annotations

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SignatureKey, on a pod, is the scheduler's signature over Given. The nodes and the scheduler itself check it, if they have keys.
const SignatureKey = "tephra.sh/slices-signature"

// signedText begins every text that is signed, so that a signature of another text is never one of slices.
const signedText = "tephra.sh/slices-signature v1\n"

// Given is what the scheduler says of a pod with its Binding. The UID ties it to this pod alone.
type Given struct {
	PodUID, Node string
	Queue        string // the annotation QueueKey; empty: there is none
	Slices       string // the annotation SlicesKey; empty: there is none
}

// text is what is signed. No two Givens have one text, because only the last field may have a line break.
func (g Given) text() ([]byte, error) {
	for _, field := range []struct{ name, value string }{{"metadata.uid", g.PodUID}, {"spec.nodeName", g.Node}, {QueueKey, g.Queue}} {
		if strings.ContainsRune(field.value, '\n') {
			return nil, &Error{SignatureKey, field.name, shorten(field.value), "no line break"}
		}
	}
	return []byte(signedText + g.PodUID + "\n" + g.Node + "\n" + g.Queue + "\n" + g.Slices), nil
}

// keyName is how a signature names the key that checks it.
func keyName(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// sign writes version 1: "v1.KEY.SIGNATURE", both hexadecimal.
func sign(key ed25519.PrivateKey, given Given) (string, error) {
	text, err := given.text()
	if err != nil {
		return "", err
	}
	return "v1." + keyName(key.Public().(ed25519.PublicKey)) + "." + hex.EncodeToString(ed25519.Sign(key, text)), nil
}

// check is nil for the signature of one of the keys over given. Without any signature it is nil for a pod that is older than
// the first key.
func check(keys map[string]ed25519.PublicKey, since time.Time, given Given, signature string, created time.Time) error {
	if signature == "" {
		if created.Before(since) {
			return nil
		}
		return &Error{SignatureKey, "", "absent", "the scheduler's signature, because the pod was created after " + since.UTC().Format(time.RFC3339)}
	}
	parts := strings.Split(signature, ".")
	if len(parts) != 3 || parts[0] != "v1" {
		return &Error{SignatureKey, "", shorten(signature), `"v1.KEY.SIGNATURE"`}
	}
	key, known := keys[parts[1]]
	if !known {
		names := make([]string, 0, len(keys))
		for name := range keys {
			names = append(names, strconv.Quote(name))
		}
		slices.Sort(names)
		return &Error{SignatureKey, "key", shorten(parts[1]), "one of " + strings.Join(names, ", ")}
	}
	bytes, err := hex.DecodeString(parts[2])
	if err != nil || len(bytes) != ed25519.SignatureSize {
		return &Error{SignatureKey, "signature", shorten(parts[2]), fmt.Sprintf("%d hexadecimal digits", 2*ed25519.SignatureSize)}
	}
	text, err := given.text()
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, text, bytes) {
		return &Error{SignatureKey, "signature", shorten(parts[2]),
			"the signature of " + SlicesKey + ", " + QueueKey + ", the pod's UID and its node " + strconv.Quote(given.Node) + " by key " + parts[1]}
	}
	return nil
}
