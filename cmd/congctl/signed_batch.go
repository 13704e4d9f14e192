//go:build !small

package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/store/wire"
)

// signs signs an agent's batches with the key of its certificate.
func signs(c *mtls.Credentials) kafka.Sign {
	return func(message []byte) (s kafka.Signature, err error) {
		s.Bytes, s.Chain, err = c.Sign(mtls.Batch, message)
		return s, err
	}
}

// verifies takes batches of the agents that they name, by certificates of the authority in the file. Without one
// it takes all. A flood of others has a line a second in the log.
func verifies(ca string, revoked []config.Revoked, log *slog.Logger) (kafka.Verify, error) {
	if ca == ingest.AnyAgent {
		return nil, nil
	}
	c, err := mtls.Open(mtls.Files{CA: ca}, func(err error) { log.Error("agents_ca stays as it was", "err", err) })
	if err != nil {
		return nil, fmt.Errorf("agents_ca: %w", err)
	}
	c.Revoke(revokedOf(revoked))
	var last time.Time
	untold := 0
	return func(message []byte, s kafka.Signature) error {
		now := time.Now()
		err := signedByItsAgent(c, message, s, now)
		if untold++; err == nil {
			untold--
		} else if now.Sub(last) >= time.Second {
			log.Warn(fmt.Sprintf("%d messages refused; they are in the dead-letter topic", untold), "last", err)
			last, untold = now, 0
		}
		return err
	}, nil
}

func signedByItsAgent(c *mtls.Credentials, message []byte, s kafka.Signature, now time.Time) error {
	h, err := wire.DecodeHeader(message)
	if err != nil {
		return err
	}
	from, err := c.Verify(mtls.Batch, message, s.Bytes, s.Chain, now)
	if named := (mtls.Identity{Role: mtls.Agent, PoP: h.PoP, Name: h.Host}); err == nil && from != named {
		err = fmt.Errorf("%s signed it", from)
	}
	if err != nil {
		return fmt.Errorf("believe batch of host %.100q in pop %.100q: %w", h.Host, h.PoP, err)
	}
	return nil
}
