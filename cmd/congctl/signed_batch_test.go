package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// bodyOf is a batch as it is in Kafka.
func bodyOf(t testing.TB, pop, host string, n int) []byte {
	t.Helper()
	frame := batchOf(t, wire.Header{PoP: pop, Host: host, Boot: record.BootID{1}, Sequence: 1}, 300, n)
	var body []byte
	_, err := wire.Frames(bytes.NewReader(frame), func(b []byte) error { body = bytes.Clone(b); return nil })
	check(t, err)
	return body
}

func signerOf(t testing.TB, a *mtlstest.Authority, id mtls.Identity) kafka.Sign {
	t.Helper()
	c, err := mtls.Open(a.Issue(id), func(error) {})
	check(t, err)
	return signs(c)
}

// TestSignedBatches: a batch counts if the agent that it names signed it, and a refusal names both.
func TestSignedBatches(t *testing.T) {
	a := mtlstest.New(t)
	edge := mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"}
	var log bytes.Buffer
	verify, err := verifies(a.Issue(edge).CA, []config.Revoked{"congctl://agent/chi/lost"}, slog.New(slog.NewTextHandler(&log, nil)))
	check(t, err)
	mine := bodyOf(t, "chi", "edge-1", 3)
	for name, c := range map[string]struct {
		sign kafka.Sign
		body []byte
		want string
	}{
		"its agent":                       {signerOf(t, a, edge), mine, ""},
		"without a signature":             {nil, mine, "no certificate"},
		"another host":                    {signerOf(t, a, mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "eve"}), mine, "congctl://agent/chi/eve signed it"},
		"another PoP's host of this name": {signerOf(t, a, mtls.Identity{Role: mtls.Agent, PoP: "ams", Name: "edge-1"}), mine, "congctl://agent/ams/edge-1 signed it"},
		"an operator":                     {signerOf(t, a, mtls.Identity{Role: mtls.Operator, Name: "edge-1"}), mine, "congctl://operator/edge-1 signed it"},
		"another authority":               {signerOf(t, mtlstest.New(t), edge), mine, "unknown authority"},
		"its agent, of another batch": {func([]byte) (kafka.Signature, error) {
			return signerOf(t, a, edge)(bodyOf(t, "chi", "edge-1", 4))
		}, mine, "it is not of this message"},
		"revoked":  {signerOf(t, a, mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "lost"}), bodyOf(t, "chi", "lost", 3), "its name is revoked"},
		"no batch": {signerOf(t, a, edge), []byte{0xff, 0xff}, "batch"},
	} {
		var s kafka.Signature
		if c.sign != nil {
			s, err = c.sign(c.body)
			check(t, err)
		}
		if err := verify(c.body, s); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if n := strings.Count(log.String(), "refused"); n == 0 || n > 3 {
		t.Errorf("%d lines of eight refusals within a moment:\n%s", n, log.String())
	}
	if v, err := verifies(ingest.AnyAgent, nil, slog.Default()); v != nil || err != nil {
		t.Errorf("without an authority: %v", err)
	}
	if _, err := verifies(t.TempDir()+"/none.pem", nil, slog.Default()); err == nil {
		t.Error("an authority that is not there is taken")
	}
}

// BenchmarkSignedBatch is what a signature costs a batch of 1,000 records, on both sides.
func BenchmarkSignedBatch(b *testing.B) {
	a := mtlstest.New(b)
	edge := mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"}
	sign, body := signerOf(b, a, edge), bodyOf(b, "chi", "edge-1", 1000)
	verify, err := verifies(a.Issue(edge).CA, []config.Revoked{"congctl://agent/chi/lost"}, slog.Default())
	check(b, err)
	var signing, verifying time.Duration
	for b.Loop() {
		began := costtest.CPU()
		s, err := sign(body)
		check(b, err)
		signing += costtest.CPU() - began
		began = costtest.CPU()
		check(b, verify(body, s))
		verifying += costtest.CPU() - began
	}
	b.ReportMetric(float64(signing.Microseconds())/float64(b.N), "us/signature")
	b.ReportMetric(float64(verifying.Microseconds())/float64(b.N), "us/verification")
}
