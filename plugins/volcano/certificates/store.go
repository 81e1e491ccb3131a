package certificates

import (
	"bytes"
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Store is where the state is kept: a Secret for the authorities, a Secret for the certificate, and two webhook configurations.
type Store struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string // of the Service, of both configurations, and before "-ca" and "-tls" of the Secrets
}

// Run writes what is due: first the authorities, then the bundle for the API server, and the certificate last.
func (s Store) Run(ctx context.Context, now time.Time) error {
	secrets := s.Client.CoreV1().Secrets(s.Namespace)
	authorities, err := s.secret(ctx, s.Name+"-ca", corev1.SecretTypeOpaque)
	if err != nil {
		return err
	}
	certificate, err := s.secret(ctx, s.Name+"-tls", corev1.SecretTypeTLS)
	if err != nil {
		return err
	}
	before, wrong := Read(authorities.Data["ca.crt"], authorities.Data["ca.key"], certificate.Data[corev1.TLSCertKey], certificate.Data[corev1.TLSPrivateKeyKey])
	if wrong != nil {
		klog.ErrorS(wrong, "A part of the certificates cannot be read, so it is made again", "secrets", s.Name+"-ca, "+s.Name+"-tls")
	}
	after, err := Next(before, s.Name+"."+s.Namespace+".svc", now)
	if err != nil {
		return err
	}
	keys, err := after.AuthorityKeys()
	if err != nil {
		return err
	}
	leaf, key, err := after.Leaf()
	if err != nil {
		return err
	}
	write := func(secret *corev1.Secret, data map[string][]byte) error {
		same := len(secret.Data) == len(data)
		for name, text := range data {
			same = same && bytes.Equal(secret.Data[name], text)
		}
		if same {
			return nil
		}
		secret.Data = data
		klog.InfoS("Writing a Secret", "name", secret.Name)
		var err error
		if secret.UID == "" {
			_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		} else {
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		}
		return err
	}
	if err := write(authorities, map[string][]byte{"ca.crt": after.Bundle(), "ca.key": keys}); err != nil {
		return err
	}
	if err := s.trust(ctx, after.Bundle()); err != nil {
		return err
	}
	return write(certificate, map[string][]byte{corev1.TLSCertKey: leaf, corev1.TLSPrivateKeyKey: key})
}

// secret is the Secret of that name, or a new one without UID.
func (s Store) secret(ctx context.Context, name string, kind corev1.SecretType) (*corev1.Secret, error) {
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Type: kind}, nil
	}
	return secret, err
}

// trust writes the bundle into the webhook configurations.
func (s Store) trust(ctx context.Context, bundle []byte) error {
	set := func(kind string, client *admissionv1.WebhookClientConfig) bool {
		if bytes.Equal(client.CABundle, bundle) {
			return false
		}
		client.CABundle = bundle
		klog.InfoS("Writing the certificate authorities", "kind", kind, "name", s.Name)
		return true
	}
	mutating, err := s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("MutatingWebhookConfiguration %s: %w", s.Name, err)
	}
	changed := false
	for i := range mutating.Webhooks {
		changed = set("MutatingWebhookConfiguration", &mutating.Webhooks[i].ClientConfig) || changed
	}
	if changed {
		if _, err := s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Update(ctx, mutating, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	validating, err := s.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ValidatingWebhookConfiguration %s: %w", s.Name, err)
	}
	changed = false
	for i := range validating.Webhooks {
		changed = set("ValidatingWebhookConfiguration", &validating.Webhooks[i].ClientConfig) || changed
	}
	if changed {
		_, err = s.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(ctx, validating, metav1.UpdateOptions{})
	}
	return err
}
