// Package certificates keeps the certificate of the webhooks, and the certificate authorities that the API server trusts for
// it. An authority outlives many certificates, and the next authority is trusted before it signs anything. So at any time the
// certificate that a webhook has, be it the old one or the new one, is good for the API server, whichever bundle it has.
//
// State and Next are pure: the time is an argument.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// A new authority is made when the newest one has less than this left.
	authorityAhead = 2 * 365 * 24 * time.Hour
	leafLife       = 90 * 24 * time.Hour
	// A new certificate is made when the old one has less than this left: pods have so long to get the new one.
	leafAhead = 60 * 24 * time.Hour
	// An authority is trusted for so long before it signs: the API server has its bundle by then.
	trustedBefore = 14 * 24 * time.Hour
	// Clocks of the cluster may differ by so much.
	skew = time.Hour
	// Authorities that are kept at most; the oldest go first.
	mostAuthorities = 3
)

// authority is one certificate authority.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// State is what is stored. The zero State has nothing yet.
type State struct {
	authorities []authority // newest first
	leaf        *x509.Certificate
	leafKey     *ecdsa.PrivateKey
}

// Next is the state that there should be now, for a certificate with that DNS name; the same if nothing is to be done. The
// bundle of the result has to reach the API server before its certificate reaches a webhook.
func Next(before State, name string, now time.Time) (State, error) {
	after := State{leaf: before.leaf, leafKey: before.leafKey}
	for _, each := range before.authorities {
		if valid(each.certificate, now) {
			after.authorities = append(after.authorities, each)
		}
	}
	if len(after.authorities) == 0 || after.authorities[0].certificate.NotAfter.Sub(now) < authorityAhead {
		fresh, err := newAuthority(now)
		if err != nil {
			return before, err
		}
		after.authorities = slices.Insert(after.authorities, 0, fresh)
	}
	after.authorities = after.authorities[:min(len(after.authorities), mostAuthorities)]
	if after.leaf == nil || !valid(after.leaf, now) || after.leaf.NotAfter.Sub(now) < leafAhead || after.Verify(after.leaf, name, now) != nil {
		signer := after.signer(now)
		leaf, key, err := newLeaf(signer, name, now)
		if err != nil {
			return before, err
		}
		after.leaf, after.leafKey = leaf, key
	}
	return after, nil
}

// signer is the newest authority that has been trusted for long enough, or else the oldest.
func (s State) signer(now time.Time) authority {
	for _, each := range s.authorities {
		if now.Sub(each.certificate.NotBefore) >= skew+trustedBefore {
			return each
		}
	}
	return s.authorities[len(s.authorities)-1]
}

// Verify is nil if a client that trusts the authorities accepts the certificate for the name.
func (s State) Verify(leaf *x509.Certificate, name string, now time.Time) error {
	roots := x509.NewCertPool()
	for _, each := range s.authorities {
		roots.AddCert(each.certificate)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now})
	return err
}

func valid(certificate *x509.Certificate, now time.Time) bool {
	return !now.Before(certificate.NotBefore) && now.Before(certificate.NotAfter)
}

func newAuthority(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "tephra-admission-ca-" + now.UTC().Format("2006-01-02")},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	certificate, err := create(template, template, key, key)
	return authority{certificate, key}, err
}

func newLeaf(signer authority, name string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	end := now.Add(leafLife)
	if signer.certificate.NotAfter.Before(end) {
		end = signer.certificate.NotAfter
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "tephra-admission"}, DNSNames: []string{name},
		NotBefore: now.Add(-skew), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leaf, err := create(template, signer.certificate, key, signer.key)
	return leaf, key, err
}

func create(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	bytes, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(bytes)
}

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// Bundle is the authorities in PEM, for caBundle.
func (s State) Bundle() []byte {
	var out []byte
	for _, each := range s.authorities {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: each.certificate.Raw})...)
	}
	return out
}

// AuthorityKeys are the keys of the authorities in PEM, in the order of Bundle.
func (s State) AuthorityKeys() ([]byte, error) {
	var out []byte
	for _, each := range s.authorities {
		text, err := keyText(each.key)
		if err != nil {
			return nil, err
		}
		out = append(out, text...)
	}
	return out, nil
}

// Leaf is the certificate of the webhooks and its key, in PEM.
func (s State) Leaf() (certificate, key []byte, err error) {
	key, err = keyText(s.leafKey)
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: s.leaf.Raw}), key, err
}

func keyText(key *ecdsa.PrivateKey) ([]byte, error) {
	bytes, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: bytes}), err
}

// Read is the state of what is stored. What cannot be read counts as absent, and the error says what it is: a Secret that is
// damaged must not keep the webhooks without a certificate.
func Read(bundle, keys, leaf, leafKey []byte) (State, error) {
	var state State
	var wrong []error
	certificates, err := blocks(bundle, certificateBlock)
	wrong = append(wrong, err)
	private, err := blocks(keys, keyBlock)
	wrong = append(wrong, err)
	if len(certificates) != len(private) {
		wrong = append(wrong, fmt.Errorf("ca.key: %d keys, expected %d, one for each certificate of ca.crt", len(private), len(certificates)))
	}
	for i := range min(len(certificates), len(private)) {
		certificate, key, err := pair(certificates[i], private[i])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("ca.crt: certificate %d: %w", i, err))
			continue
		}
		state.authorities = append(state.authorities, authority{certificate, key})
	}
	certificates, err = blocks(leaf, certificateBlock)
	wrong = append(wrong, err)
	private, err = blocks(leafKey, keyBlock)
	wrong = append(wrong, err)
	if len(certificates) > 0 && len(private) > 0 {
		if state.leaf, state.leafKey, err = pair(certificates[0], private[0]); err != nil {
			wrong = append(wrong, fmt.Errorf("tls.crt: %w", err))
			state.leaf, state.leafKey = nil, nil
		}
	}
	return state, errors.Join(wrong...)
}

func pair(certificate, key []byte) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	read, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	signer, is := private.(*ecdsa.PrivateKey)
	if !is || !signer.PublicKey.Equal(read.PublicKey) {
		return nil, nil, errors.New("its key is of another certificate")
	}
	return read, signer, nil
}

// blocks are the contents of the blocks of a text in PEM.
func blocks(text []byte, kind string) ([][]byte, error) {
	const most = 16
	var out [][]byte
	for rest := text; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out, fmt.Errorf("%d bytes that are not PEM, expected %q", len(rest), kind)
		}
		if block.Type != kind || len(out) == most {
			return out, fmt.Errorf("a block %q, expected at most %d of %q", block.Type, most, kind)
		}
		out = append(out, block.Bytes)
	}
	return out, nil
}
