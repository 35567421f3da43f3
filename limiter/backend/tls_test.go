package backend

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
	"strings"
	"testing"
	"time"
)

// A real server with TLS: OpenSSL answers the wrong protocol in its own way.
func TestRealTLS(t *testing.T) {
	requireRedis(t)
	for _, clients := range []string{"no", "yes"} { // whether they must show a certificate
		t.Run("tls-auth-clients "+clients, func(t *testing.T) {
			addr := secureRedis(t, clients)
			wantOpenError(t, "redis://"+addr, patient, "the server speaks TLS", "use rediss://"+addr)
			wantOpenError(t, "rediss://"+addr, patient, "certificate is not trusted", "?skip_verify=true")
			if clients == "yes" {
				wantOpenError(t, "rediss://"+addr+"?skip_verify=true", patient, "wants a client certificate", "--tls-auth-clients no")
				return
			}
			if s := open(t, "rediss://"+addr+"?skip_verify=true", Options{}); s.Flavour() != Live {
				t.Errorf("flavour %q", s.Flavour())
			}
		})
	}
}

// A real server without TLS takes a TLS greeting for the start of a command and
// waits for the rest.
func TestRealPlain(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	port := freePort(t)
	s := open(t, "managed", Options{Config: []string{"--port", port}})
	addr := "127.0.0.1:" + port
	wantOpenError(t, "redis://"+addr+"/99", patient, "no such database", "redis://"+addr+"/0")

	if err := s.Client().ConfigSet(t.Context(), "requirepass", "another").Err(); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, "redis://"+addr, patient, "the server wants a password: NOAUTH", "redis://:PASSWORD@"+addr)
	wantOpenError(t, "redis://:"+secret+"@"+addr, patient, "wrong user or password", "redis://:PASSWORD@"+addr)
	wantOpenError(t, "rediss://:"+secret+"@"+addr, 3*time.Second, "does not speak it", "use redis://"+addr)
	open(t, "redis://:another@"+addr, Options{})
}

// Redis 6 and later let any password in where the default user has none.
func TestRealNeedlessPassword(t *testing.T) {
	requireRedis(t)
	url := open(t, "managed", Options{}).URL()
	open(t, strings.Replace(url, "unix://", "unix://:"+secret+"@", 1), Options{})
}

// secureRedis starts a managed server that also listens with TLS.
func secureRedis(t *testing.T, clients string) (addr string) {
	t.Helper()
	certificate, key := newCertificate(t)
	dir := t.TempDir()
	for name, content := range map[string][]byte{"cert.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	s, err := Open(t.Context(), "managed", Options{Config: []string{
		"--tls-port", port, "--tls-auth-clients", clients, "--tls-ca-cert-file", dir + "/cert.pem",
		"--tls-cert-file", dir + "/cert.pem", "--tls-key-file", dir + "/key.pem",
	}})
	if err != nil && strings.Contains(err.Error(), "tls-port") {
		t.Skipf("SKIPPED, NOT TESTED: this server is built without TLS: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return "127.0.0.1:" + port
}

// newCertificate makes one for 127.0.0.1 that no CA knows, in PEM.
func newCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "rlbench test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
