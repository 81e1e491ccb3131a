package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Admit runs tephra-admission with further flags, and has the API server ask it about the namespace by the webhooks of the
// manifests, until the function that comes back is called. "" is all namespaces.
func (c *Cluster) Admit(ctx context.Context, namespace string, flags ...string) (stop func(context.Context) error, err error) {
	certificate, key, authority, err := c.LoopbackCertificate("admission")
	if err != nil {
		return nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	program := c.NewProcess("admission", c.programs.Admission, append([]string{"--scheduler-name=volcano", "--address=" + address,
		"--metrics-address=", "--probes-address=", "--tls-cert-file=" + certificate, "--tls-key-file=" + key}, flags...)...)
	if err := program.Launch(); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	err = Until(ctx, func(context.Context) error {
		connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
		if err == nil {
			connection.Close()
		}
		return err
	})
	if err == nil {
		err = c.register(ctx, namespace, address, authority)
	}
	stop = func(ctx context.Context) error {
		client := c.Kube.AdmissionregistrationV1()
		err := client.MutatingWebhookConfigurations().Delete(ctx, "tephra-admission", metav1.DeleteOptions{})
		if other := client.ValidatingWebhookConfigurations().Delete(ctx, "tephra-admission", metav1.DeleteOptions{}); err == nil {
			err = other
		}
		program.Stop()
		return err
	}
	if err != nil {
		_ = stop(ctx)
		return nil, err
	}
	return stop, nil
}

// register makes the webhooks of the manifests, at the address instead of the Service.
func (c *Cluster) register(ctx context.Context, namespace, address string, authority []byte) error {
	text, err := os.ReadFile(filepath.Join(c.programs.Manifests, "components/admission/webhooks.yaml"))
	if err != nil {
		return err
	}
	selector := &metav1.LabelSelector{}
	if namespace != "" {
		selector.MatchLabels = map[string]string{"kubernetes.io/metadata.name": namespace}
	}
	there := func(config *admissionregistration.WebhookClientConfig) {
		at := (&url.URL{Scheme: "https", Host: address, Path: *config.Service.Path}).String()
		*config = admissionregistration.WebhookClientConfig{URL: &at, CABundle: authority}
	}
	var completes admissionregistration.MutatingWebhookConfiguration
	var checks admissionregistration.ValidatingWebhookConfiguration
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	if err := documents.Decode(&completes); err != nil {
		return err
	}
	if err := documents.Decode(&checks); err != nil {
		return err
	}
	for i := range completes.Webhooks {
		there(&completes.Webhooks[i].ClientConfig)
		completes.Webhooks[i].NamespaceSelector = selector
	}
	for i := range checks.Webhooks {
		there(&checks.Webhooks[i].ClientConfig)
		checks.Webhooks[i].NamespaceSelector = selector
	}
	client := c.Kube.AdmissionregistrationV1()
	if _, err := client.MutatingWebhookConfigurations().Create(ctx, &completes, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = client.ValidatingWebhookConfigurations().Create(ctx, &checks, metav1.CreateOptions{})
	return err
}

// LoopbackCertificate writes a certificate of 127.0.0.1 that signs itself, and its key, as NAME.crt and NAME.key.
func (c *Cluster) LoopbackCertificate(name string) (certificate, key string, authority []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 1),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return "", "", nil, err
	}
	bits, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", nil, err
	}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certificate, key = filepath.Join(c.Dir, name+".crt"), filepath.Join(c.Dir, name+".key")
	if err := os.WriteFile(certificate, authority, 0o600); err != nil {
		return "", "", nil, err
	}
	return certificate, key, authority, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bits}), 0o600)
}
