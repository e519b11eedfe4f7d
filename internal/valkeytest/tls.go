package valkeytest

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
	"testing"
	"time"
)

// CA is a certificate authority that lives as long as its test.
type CA struct {
	File string // its certificate, PEM

	tb   testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes one.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	ca := &CA{tb: tb, dir: tb.TempDir()}
	ca.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.key = ca.newKey()
	ca.File = ca.write("ca.pem", "CERTIFICATE", ca.sign(ca.cert, ca.key))
	return ca
}

// Issue returns the files of a certificate for the loopback address and the
// name valkey.test, for a server or a client, valid until a time.
func (ca *CA) Issue(name string, until time.Time) (cert, key string) {
	ca.tb.Helper()
	k := ca.newKey()
	der := ca.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		DNSNames: []string{"valkey.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, k)
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		ca.tb.Fatal(err)
	}
	return ca.write(name+".pem", "CERTIFICATE", der), ca.write(name+".key", "PRIVATE KEY", keyDER)
}

// StartTLS runs a server that speaks TLS only. With clients "yes" it wants a
// certificate from its clients, with "no" it does not.
func (ca *CA) StartTLS(cert, key, clients string) *Server {
	ca.tb.Helper()
	s := Start(ca.tb, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca.File,
		"--tls-auth-clients", clients, "--tls-port", PortOfServer, "--port", "0")
	return s
}

func (ca *CA) newKey() *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		ca.tb.Fatal(err)
	}
	return k
}

func (ca *CA) sign(cert *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, cert, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		ca.tb.Fatal(err)
	}
	return der
}

func (ca *CA) write(name, kind string, der []byte) string {
	path := filepath.Join(ca.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		ca.tb.Fatal(err)
	}
	return path
}
