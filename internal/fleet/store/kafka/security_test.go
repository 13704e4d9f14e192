package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/congctl/congctl/internal/fleet/store/kafka/kafkatest"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

func TestParseSecureAddress(t *testing.T) {
	for s, want := range map[string]Address{
		"kafka+tls://a:9093/t":                         {Brokers: []string{"a:9093"}, Topic: "t", TLS: true},
		"kafka://u:p%40%3A@a:9092,b:9092/t":            {Brokers: []string{"a:9092", "b:9092"}, Topic: "t", User: "u", Password: "p@:"},
		"kafka+tls://u:p@a:9093/t?sasl=plain&ca=/c":    {Brokers: []string{"a:9093"}, Topic: "t", TLS: true, CA: "/c", User: "u", Password: "p", Plain: true},
		"kafka+tls://a:9093/t?cert=/c.pem&key=/k%20.p": {Brokers: []string{"a:9093"}, Topic: "t", TLS: true, Cert: "/c.pem", Key: "/k .p"},
	} {
		a, err := ParseAddress(s)
		if d := cmp.Diff(want, a); err != nil || d != "" {
			t.Errorf("%s: %v %s", s, err, d)
		}
		if strings.Contains(a.String(), "p@") {
			t.Errorf("%s is shown as %s", s, a)
		}
	}
	for s, want := range map[string]string{
		"kafka://secret@a:9092/t":              "write user:password",
		"kafka://u:secret@a/t":                 `broker "a"`,
		"kafka://u:secret@a:9092/t?sasl=plain": "kafka+tls://",
		"kafka://a:9092/t?ca=/c":               "kafka+tls:// for TLS",
		"kafka+tls://a:9092/t?ca=c":            "absolute path",
		"kafka+tls://a:9092/t?cert=/c":         "give both",
		"kafka+tls://a:9092/t?sasl=gssapi":     "scram-sha-512 is the default",
		"kafka+tls://a:9092/t?insecure=true":   "unknown option insecure",
		"kafka+ssl://u:secret@a:9092/t":        "kafka+tls://",
		"kafka+tls://%zz:secret@a:9092/t":      "write user:password",
	} {
		if _, err := ParseAddress(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q and no password", s, err, want)
		}
	}
}

// secure is how a topic with TLS and SASL is reached, by those who may and by those who may not.
func secure(t *testing.T, a Address, ca string) {
	t.Helper()
	a.TLS, a.CA, a.User, a.Password = true, ca, "ingest", "right"
	a = made(t, a)
	p := producer(t, a, "fra")
	check(t, p.Send(t.Context(), framed("one")))
	for name, wrong := range map[string]func(a *Address){
		"the password": func(a *Address) { a.Password = "wrong" },
		"no password":  func(a *Address) { a.User = "" },
		"no TLS":       func(a *Address) { a.TLS = false },
		"no authority": func(a *Address) { a.CA = "" },
	} {
		b := a
		wrong(&b)
		if err := Check(t.Context(), b); err == nil {
			t.Errorf("%s: it got in", name)
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
