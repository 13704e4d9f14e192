package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// security is how a client gets in: TLS 1.2 or later, and SASL.
func (a Address) security() (opts []kgo.Opt, err error) {
	if a.TLS {
		c, err := a.tls()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(c))
	}
	switch {
	case a.Plain:
		opts = append(opts, kgo.SASL(plain.Auth{User: a.User, Pass: a.Password}.AsMechanism()))
	case a.User != "":
		opts = append(opts, kgo.SASL(scram.Auth{User: a.User, Pass: a.Password}.AsSha512Mechanism()))
	}
	return opts, nil
}

func (a Address) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA != "" {
		pem, err := plainfile.ReadGuarded(a.CA, mtls.MaxPEM)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca %s: no certificate in it", a.CA)
		}
	}
	if a.Cert != "" {
		own, err := mtls.ReadPair(a.Cert, a.Key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
