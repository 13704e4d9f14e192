package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/congctl/congctl/internal/fleet/store/kafka/kafkatest"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// secure is how a topic with TLS and SASL is reached, by those who may and by those who may not.
func secure(t *testing.T, a Address, ca string) {
	t.Helper()
	a.TLS, a.CA, a.User, a.Password = true, ca, "ingest", "right"
	a = made(t, a)
	p := producer(t, a, "fra")
	check(t, p.Send(t.Context(), framed("one")))
	for name, wrong := range map[string]func(a *Address){
		"the password": func(a *Address) { a.Password = "Zq7" },
		"no password":  func(a *Address) { a.User = "" },
		"no TLS":       func(a *Address) { a.TLS = false },
		"no authority": func(a *Address) { a.CA = "" },
	} {
		b := a
		wrong(&b)
		if err := Check(t.Context(), b); err == nil || strings.Contains(err.Error(), "Zq7") {
			t.Errorf("%s: it got in, or is said: %v", name, err)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestSecureFake(t *testing.T) {
	own := mtlstest.New(t).Issue(mtls.Identity{Role: mtls.Controller, Name: "broker"})
	pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	check(t, err)
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "ingest", "right"))
	check(t, err)
	t.Cleanup(c.Close)
	secure(t, Address{Brokers: c.ListenAddrs(), Topic: "records"}, own.CA)
}

// TestSecureBroker is the same with Kafka itself.
func TestSecureBroker(t *testing.T) {
	own := mtlstest.New(t).Issue(mtls.Identity{Role: mtls.Controller, Name: "broker"})
	pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	check(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	check(t, err)
	cert, err := os.ReadFile(own.Cert)
	check(t, err)
	store := filepath.Join(t.TempDir(), "broker.pem") // Kafka reads keys in PKCS #8 alone
	check(t, os.WriteFile(store, append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), cert...), 0o600))
	server := kafkatest.StartSecure(t, store, "ingest", "right")
	secure(t, Address{Brokers: []string{server.Broker()}, Topic: "records"}, own.CA)
}
