package annotations

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Files of a folder of keys, besides NAME.pub: public keys whose signatures count.
const (
	signingFile = "sign.pem" // the private key that signs
	sinceFile   = "since"    // pods created before this time need no signature
	publicFiles = ".pub"
)

const (
	mostKeys     = 8
	mostKeyBytes = 4 << 10
	// A key that is rotated signs after so long, and its public part counts after so long.
	readAgainAfter = 10 * time.Second
	// What fails is checked once more by keys that are newer than this.
	checkAgainAfter = time.Second
)

// Keys sign and check what the scheduler says of pods, with Ed25519. They are read from a folder, and again when they change
// there. Any goroutine.
type Keys struct {
	folder string

	mutex  sync.Mutex
	read   time.Time // when the folder was last read
	failed string    // why it could not be; empty: it was
	keySet
}

type keySet struct {
	signing ed25519.PrivateKey
	public  map[string]ed25519.PublicKey // by keyName
	since   time.Time
}

// OpenKeys reads the keys of the folder. An error names the file.
func OpenKeys(folder string) (*Keys, error) {
	read, err := readKeys(folder)
	if err != nil {
		return nil, err
	}
	return &Keys{folder: folder, read: time.Now(), keySet: read}, nil
}

// Sign is the value of SignatureKey.
func (k *Keys) Sign(given Given) (string, error) {
	return sign(k.newerThan(readAgainAfter).signing, given)
}

// Check is nil if the signature counts for a pod that was created then.
func (k *Keys) Check(given Given, signature string, created time.Time) error {
	set := k.newerThan(readAgainAfter)
	err := check(set.public, set.since, given, signature, created)
	if err != nil {
		set = k.newerThan(checkAgainAfter)
		err = check(set.public, set.since, given, signature, created)
	}
	return err
}

// newerThan are the keys as they were at most so long ago. A folder that cannot be read changes nothing.
func (k *Keys) newerThan(age time.Duration) keySet {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if time.Since(k.read) < age {
		return k.keySet
	}
	k.read = time.Now()
	read, err := readKeys(k.folder)
	switch {
	case err == nil:
		k.keySet, k.failed = read, ""
	case err.Error() != k.failed:
		k.failed = err.Error()
		klog.ErrorS(err, "Could not read the keys of slices again; the earlier ones stay in use", "folder", k.folder)
	}
	return k.keySet
}

func readKeys(folder string) (keySet, error) {
	set := keySet{public: map[string]ed25519.PublicKey{}}
	path := filepath.Join(folder, signingFile)
	block, err := readPEM(path)
	if err != nil {
		return set, err
	}
	private, err := x509.ParsePKCS8PrivateKey(block)
	signing, is := private.(ed25519.PrivateKey)
	if err != nil || !is {
		return set, fmt.Errorf("%s: expected a private key of Ed25519 in PEM", path)
	}
	set.signing = signing
	own := signing.Public().(ed25519.PublicKey)
	set.public[keyName(own)] = own

	files, err := filepath.Glob(filepath.Join(folder, "*"+publicFiles))
	if err != nil {
		return set, fmt.Errorf("%s: %w", folder, err)
	}
	if len(files) > mostKeys {
		return set, fmt.Errorf("%s: %d files *%s, expected at most %d", folder, len(files), publicFiles, mostKeys)
	}
	for _, path := range files {
		block, err := readPEM(path)
		if err != nil {
			return set, err
		}
		read, err := x509.ParsePKIXPublicKey(block)
		key, is := read.(ed25519.PublicKey)
		if err != nil || !is {
			return set, fmt.Errorf("%s: expected a public key of Ed25519 in PEM", path)
		}
		set.public[keyName(key)] = key
	}
	set.since, err = readSince(filepath.Join(folder, sinceFile))
	return set, err
}

// readSince: without the file, every pod needs a signature.
func readSince(path string) (time.Time, error) {
	text, err := readSmall(path)
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	since, err := time.Parse("2006-01-02T15:04:05Z", strings.TrimSpace(string(text)))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %s, expected a time such as 2026-01-31T08:00:00Z", path, shorten(string(text)))
	}
	return since, nil
}

func readPEM(path string) ([]byte, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: expected a key in PEM", path)
	}
	return block.Bytes, nil
}

func readSmall(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostKeyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostKeyBytes {
		return nil, fmt.Errorf("%s: expected at most %d bytes", path, mostKeyBytes)
	}
	return text, nil
}
