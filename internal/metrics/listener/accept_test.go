package listener

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/metricstest"
)

// asked are values of Accept, most of them those that programs send.
var asked = []struct {
	header string // several by |
	plain  bool
}{
	{"", false},
	{"*/*", false},
	{"text/plain", true},
	{"TEXT/Plain; q=0.1", true},
	{"text/plain;version=0.0.4", true},
	{`text/plain; version="0.0.4"; charset=utf-8`, true},
	{"text/*", true},
	{"application/openmetrics-text", false},
	{"application/openmetrics-text; version=1.0.0; charset=utf-8", false},
	// Prometheus 2.42, 2.49, 3.0 and, with scrape_protocols: [PrometheusText0.0.4], 3.0.
	{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", false},
	{"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", false},
	{"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", false},
	{"text/plain;version=0.0.4;q=0.6,*/*;q=0.5", true},
	{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3", true}, // Telegraf
	{"text/plain,application/openmetrics-text;q=0.9", true},
	{"text/plain;q=0.9,application/openmetrics-text", false},
	{"text/plain;q=0.5,application/openmetrics-text;q=0.5", false},
	{"application/openmetrics-text;q=0,*/*", true},
	{"application/openmetrics-text|text/plain;q=0.1", false},
	{"text/plain;q=0.1|application/openmetrics-text;q=0", true},
	{"text/plain;q=0", false},
	{"*/*;q=0.1,text/plain;q=0.2", true},
	{"text/plain;version=1.0.0", false}, // no offer: the preferred one
	{"application/json", false},
	{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
	{"text/plain;q=2,*/*;q=0.1", false},
	{"text/plain;q=x", false},
	{";;;,,text/plain", true},
}

// TestAccept: a scraper gets the format that it asks for, with its content type.
func TestAccept(t *testing.T) {
	url := serve(t, Options{}, Source{Alive: well, Ready: well, Collect: func(_ context.Context, p *metrics.Page) {
		p.Counter("congctl_made_total", `Pages "made".`).Is(1)
	}})
	for _, c := range asked {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header["Accept"] = strings.Split(c.header, "|")
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		_, bad := metricstest.Parse(body)
		want := offers[0]
		if c.plain {
			want = offers[1]
		}
		if got := res.Header.Get("Content-Type"); err != nil || got != want || (bad != nil) != c.plain || res.Header.Get("Vary") != "Accept" {
			t.Errorf("%q: %s, %v:\n%s", c.header, got, res.Header, body)
		}
	}
}

// FuzzAccept: whatever is asked, the answer is an offer, and asking for it alone gets it.
func FuzzAccept(f *testing.F) {
	for _, c := range asked {
		f.Add(c.header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := accepted([]string{header})
		if !slices.Contains(offers, got) || accepted([]string{got}) != got {
			t.Errorf("%q: %q", header, got)
		}
	})
}
