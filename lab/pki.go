package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The lab's certificates: one authority for servers and clients, one for the aggregator's front proxy,
// each file in PEM below one folder. Nothing is ever renewed; a lab is younger than a year.

type keyPair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue signs with the issuer's key; a nil issuer makes a self-signed authority.
func issue(issuer *keyPair, template *x509.Certificate) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().AddDate(1, 0, 0)
	if issuer == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
		issuer = &keyPair{template, key}
	} else {
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &keyPair{certificate, key}, err
}

func authority(name string) (*keyPair, error) {
	return issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: name}})
}

func client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: groups}}
}

func server(name string, dns ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append(dns, "localhost"),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

func (p *keyPair) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.certificate.Raw})
}

// keyPEM is SEC 1, which every reader here takes; the service-account verifier refuses PKCS#8.
func (p *keyPair) keyPEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(p.key)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}

func (p *keyPair) write(dir, name string) error {
	key, err := p.keyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".crt"), p.certificatePEM(), 0o600)
}

// writePKI makes all certificates in dir, and the administrator's kubeconfig for the API server at url.
func writePKI(dir, url, kubeconfig string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca, err := authority("tephra-lab")
	if err != nil {
		return err
	}
	frontCA, err := authority("tephra-lab-front-proxy")
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name     string
		issuer   *keyPair
		template *x509.Certificate
	}{
		{"kube-apiserver", ca, server("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc")},
		{"volcano-admission", ca, server("volcano-admission")},
		{"service-account", ca, client("service-account")}, // only its key is used
		{"front-proxy", frontCA, client("front-proxy")},
	} {
		pair, err := issue(one.issuer, one.template)
		if err != nil {
			return err
		}
		if err := pair.write(dir, one.name); err != nil {
			return err
		}
	}
	if err := ca.write(dir, "ca"); err != nil {
		return err
	}
	if err := frontCA.write(dir, "front-proxy-ca"); err != nil {
		return err
	}
	admin, err := issue(ca, client("tephra-lab-admin", "system:masters"))
	if err != nil {
		return err
	}
	return admin.writeKubeconfig(kubeconfig, url, ca)
}

func (p *keyPair) writeKubeconfig(path, url string, ca *keyPair) error {
	key, err := p.keyPEM()
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca.certificatePEM()}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: p.certificatePEM(), ClientKeyData: key}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "admin"}
	config.CurrentContext = "lab"
	return clientcmd.WriteToFile(*config, path)
}
