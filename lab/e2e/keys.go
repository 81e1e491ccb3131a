package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
)

// SignatureKey is the annotation with the scheduler's signature over the slices and the queue of a pod.
const SignatureKey = "tephra.sh/slices-signature"

// WriteKeys makes a folder with a new key as --slices-keys reads it: the private key for the scheduler, the public key for all.
func WriteKeys(folder string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	signs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	checks, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{"sign.pem": {Type: "PRIVATE KEY", Bytes: signs}, "key.pub": {Type: "PUBLIC KEY", Bytes: checks}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
