package listener

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/metricstest"
)

// patience bounds each wait of a test.
const patience = 30 * time.Second

var client = &http.Client{Timeout: patience}

// serve starts a server and returns its URL.
func serve(t *testing.T, o Options, from Source, more ...string) string {
	t.Helper()
	o.Address, o.Log = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range more {
		s.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "more") }))
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, from) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("it did not end")
		}
	})
	return "http://" + s.Addr()
}

func get(t *testing.T, url string) (status int, body string, header http.Header) {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

func well(context.Context) error { return nil }

// TestCollectsOnceASecond: many scrapers cost what one does.
func TestCollectsOnceASecond(t *testing.T) {
	var made atomic.Int64
	url := serve(t, Options{}, Source{Alive: well, Ready: well, Collect: func(_ context.Context, p *metrics.Page) {
		p.Counter("congctl_made_total", "Pages made.").Is(float64(made.Add(1)))
	}})
	began := time.Now()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			status, body, header := get(t, url+"/metrics")
			if _, err := metricstest.Parse([]byte(body)); err != nil || status != http.StatusOK || header.Get("Content-Type") != metrics.ContentType {
				t.Errorf("%d, %v, %v", status, err, header)
			}
		})
	}
	all.Wait()
	if most := int64(time.Since(began)/fresh) + 1; made.Load() > most {
		t.Errorf("%d pages were made, at most %d may be", made.Load(), most)
	}
}

func TestHealth(t *testing.T) {
	var fault atomic.Pointer[error]
	check := func(context.Context) error {
		if e := fault.Load(); e != nil {
			return *e
		}
		return nil
	}
	url := serve(t, Options{}, Source{Collect: func(context.Context, *metrics.Page) {}, Alive: well, Ready: check}, "GET /more")
	for _, want := range []verdict{{OK: true}, {Reason: `no window has ended: "5m"`}} {
		status, body, _ := get(t, url+"/readyz")
		var got verdict
		if err := json.Unmarshal([]byte(body), &got); err != nil || got != want || (status == http.StatusOK) != want.OK {
			t.Errorf("%d %s, %v; want %+v", status, body, err, want)
		}
		e := errors.New(`no window has ended: "5m"`)
		fault.Store(&e)
	}
	if status, _, _ := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d", status)
	}
	if _, body, _ := get(t, url+"/more"); body != "more" {
		t.Errorf("more: %s", body)
	}
}

func TestProfilesAreOptIn(t *testing.T) {
	from := Source{Collect: func(context.Context, *metrics.Page) {}, Alive: well, Ready: well}
	for _, on := range []bool{false, true} {
		status, _, _ := get(t, serve(t, Options{PProf: on}, from)+"/debug/pprof/heap")
		if (status == http.StatusOK) != on {
			t.Errorf("profiles %v: %d", on, status)
		}
	}
}

// TestCollectionThatHangs is reported, to the scraper that began it and to the next one.
func TestCollectionThatHangs(t *testing.T) {
	hold := make(chan struct{})
	url := serve(t, Options{}, Source{Alive: well, Ready: well, Collect: func(context.Context, *metrics.Page) { <-hold }})
	for range 2 {
		if status, body, _ := get(t, url+"/metrics"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no answer within") {
			t.Errorf("%d %s", status, body)
		}
	}
	if status, _, _ := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d", status)
	}
	close(hold)
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s, err := Listen(t.Context(), Options{Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "metrics.listen "+l.Addr().String()) {
		t.Errorf("%v, %v", s, err)
	}
}
