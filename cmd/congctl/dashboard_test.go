package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
	"github.com/congctl/congctl/internal/tcp/record"
)

// board is a dashboard of a pretended PoP.
type board struct {
	*pretended
	url  string
	desk *desk
	log  lockedBuffer

	mu    sync.Mutex // guards this
	audit []control.Act
}

var boardTokens = holders{"op": {Role: mtls.Operator, Name: "ann", Token: true}, "look": {Role: mtls.Viewer, Name: "bob", Token: true}, "ams": {Role: mtls.Operator, PoP: "ams", Name: "cy", Token: true}}

// expiring knows a token that ends while it is used.
type expiring struct {
	link.Tokens
	gone atomic.Bool
}

func (e *expiring) Holder(secret string, now time.Time) (mtls.Identity, error) {
	if secret == "short" && !e.gone.Load() {
		return mtls.Identity{Role: mtls.Operator, Name: "eve", Token: true}, nil
	}
	return e.Tokens.Holder(secret, now)
}

// expireQuery ends it.
var expireQuery = control.Query[control.None, control.None]{Name: "expire", Acts: true}

// openBoard serves it until the test ends.
func openBoard(t testing.TB, networks int, cfg config.Config) *board {
	t.Helper()
	if os.Getenv(cgroupEnv) != "" { // in a network namespace of its own
		check(t, prepareLoopback())
	}
	cfg.Metrics.Listen = "127.0.0.1:0"
	b := &board{pretended: pretend(networks)}
	log := newLog(cfg.Log, &b.log)
	s, err := openListener(t.Context(), cfg.Metrics.Listen, false, log)
	check(t, err)
	b.url = "http://" + s.Addr()
	h := control.NewHandler(log, func(ctx context.Context) string { return link.Caller(ctx).String() })
	control.HandleView(h, b)
	control.HandleActions(h, b)
	control.Handle(h, effectOfPoP, b.effect)
	control.Handle(h, ratesQuery, b.rates)
	control.Handle(h, fleetQuery, func(context.Context, control.None) (FleetStatus, error) { return b.fleet(), nil })
	h.Refused(because)
	h.Audit(func(_ context.Context, a control.Act) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.audit = append(b.audit, a)
	})
	control.Handle(h, recentQuery, recentOf(b))
	d := desk{log: log, about: Desk{Fleet: true}, pops: func() []string { return []string{"chi"} }, of: func(_ context.Context, pop string) (popDesk, error) {
		if pop != "chi" {
			return popDesk{}, io.EOF
		}
		return popDesk{h, b, b.fleet, func() {}}, nil
	}}
	tokens := &expiring{Tokens: boardTokens}
	control.Handle(h, expireQuery, func(ctx context.Context, _ control.None) (control.None, error) {
		tokens.gone.Store(true)
		return control.None{}, b.act(func(*control.Status) {}, "expire", link.Caller(ctx).String())
	})
	on, err := openPage(t.Context(), cfg.Metrics, "", s, log)
	check(t, err)
	check(t, d.serve(on, cfg, tokens))
	b.desk = &d
	well := func(context.Context) error { return nil }
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(ctx, listener.Source{Collect: func(context.Context, *metrics.Page) {}, Alive: well, Ready: well})
	}()
	t.Cleanup(func() { stop(); check(t, <-done) })
	return b
}

func (b *board) ask(t testing.TB, query, token string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+query, strings.NewReader("{}"))
	check(t, err)
	if token != "" {
		r.Header.Set(tokenHeader, token)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := (&http.Client{Timeout: patience}).Do(r)
	check(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	check(t, err)
	return res.StatusCode, string(text)
}

// TestDashboardRoles: who may read and act, from where, and that what is tried is audited.
func TestDashboardRoles(t *testing.T) {
	b := openBoard(t, 200, config.Default())
	const see, act = "/api/pop/chi/v1/status", "/api/pop/chi/v1/stop"
	for _, c := range []struct {
		query, token string
		header       []string
		want         int
	}{
		{see, "", nil, 200}, {see, "op", nil, 200}, {see, "look", nil, 200}, {see, "ams", nil, 200}, {see, "gone", nil, 401},
		{act, "", nil, 403}, {act, "look", nil, 403}, {act, "ams", nil, 403}, {act, "gone", nil, 401},
		{act, "op", []string{"Sec-Fetch-Site", "cross-site"}, 403}, {act, "op", []string{"Origin", "https://evil.example"}, 403},
		{act, "op", []string{"Host", "evil.example"}, 421}, {see, "", []string{"Host", "evil.example"}, 421},
		{"/api/pop/ams/v1/status", "", nil, 404}, {"/api/pop/chi/v1/nothing", "", nil, 404}, {"/api/else", "", nil, 404},
		{see, "", []string{"Authorization", "Basic YW5uOnB3"}, 200}, {act, "", []string{"Authorization", "Basic YW5uOnB3"}, 403}, {see, "", []string{"Authorization", "Bearer gone"}, 401},
		{act, "op", []string{"Sec-Fetch-Site", "same-origin", "Authorization", "Basic YW5uOnB3"}, 200},
	} {
		if status, text := b.ask(t, c.query, c.token, c.header...); status != c.want {
			t.Errorf("%s by %q %v: %d, want %d: %s", c.query, c.token, c.header, status, c.want, text)
		}
	}
	if got := b.did(); !slices.Equal(got, []string{"stop false by token ann"}) {
		t.Errorf("done: %q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var by []string
	for _, a := range b.audit {
		by = append(by, a.By)
	}
	if got := strings.Join(by, ", "); got != "token dashboard-without-a-token, token bob, token cy, token dashboard-without-a-token, token ann" {
		t.Errorf("audited: %s", got)
	}
}

// TestDashboardDesk: the page learns who it is, and no answer but the page is kept by a browser.
func TestDashboardDesk(t *testing.T) {
	b := openBoard(t, 0, config.Default())
	for token, want := range map[string]Desk{"": {Role: mtls.Viewer}, "op": {Role: mtls.Operator, Name: "ann"}, "ams": {Role: mtls.Operator, Name: "cy", Only: "ams"}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/api/desk", nil)
		check(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := (&http.Client{Timeout: patience}).Do(r)
		check(t, err)
		var got Desk
		check(t, json.NewDecoder(res.Body).Decode(&got))
		check(t, res.Body.Close())
		if got.Role != want.Role || got.Name != want.Name || got.Only != want.Only || !slices.Equal(got.PoPs, []string{"chi"}) || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %+v %v", token, got, res.Header)
		}
	}
}

// TestDashboardPacks: 100,000 networks come compressed, and whole; a refusal is not worth it.
func TestDashboardPacks(t *testing.T) {
	b := openBoard(t, 20_000, config.Default())
	ask := func(query string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/api/pop/chi/v1/"+query, strings.NewReader("{}"))
		check(t, err)
		r.Header.Set("Accept-Encoding", "gzip")
		res, err := (&http.Client{Timeout: patience}).Do(r)
		check(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	var refusal control.Error
	res := ask("nosuch")
	check(t, json.NewDecoder(res.Body).Decode(&refusal))
	if res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Encoding") != "" || refusal.Text == "" {
		t.Errorf("refused with %s, %v: %+v", res.Status, res.Header, refusal)
	}
	res = ask("prefixes")
	z, err := gzip.NewReader(res.Body)
	check(t, err)
	var rows []control.PrefixRow
	check(t, json.NewDecoder(z).Decode(&rows))
	if len(rows) != 20_000 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestDashboardOff: then the port has metrics only.
func TestDashboardOff(t *testing.T) {
	cfg := config.Default()
	cfg.Metrics.Dashboard = config.DashboardOff
	b := openBoard(t, 1, cfg)
	for _, path := range []string{"/", "/api/desk", "/api/pop/chi/v1/status"} {
		if status, _ := b.ask(t, path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// recorded is a store of some windows, of which it counts the reads.
type recorded struct {
	starts []int64
	reads  int
	bad    int64 // the start of a window that cannot be read
}

func (r *recorded) Heads(context.Context, int64, int64) (heads []journal.Head, err error) {
	for _, s := range r.starts {
		heads = append(heads, journal.Head{Start: s})
	}
	return heads, nil
}

func (r *recorded) Windows(_ context.Context, from, to int64, row func(*record.Window) error) error {
	r.reads++
	switch from {
	case 300: // no connection
		return nil
	case r.bad:
		return errors.New("damaged")
	}
	return row(&record.Window{Start: from, Eligible: 10, RateBytesPerS: [5]float64{1e5, 1e5, 2e5, 2e5, 2e5}})
}

// TestRatesReadOnce: each window is read once, the newest that are asked for are told, and those without a connection are not.
func TestRatesReadOnce(t *testing.T) {
	store := &recorded{starts: []int64{0, 300, 600, 900}, bad: -1}
	c := course{store: store}
	for i, want := range []struct {
		windows, points, reads int
		first                  int64
	}{{2, 2, 2, 600}, {2, 2, 2, 600}, {4, 3, 4, 0}, {9999, 4, 5, 0}, {0, 1, 5, 1200}} {
		if i == 3 {
			store.starts = append(store.starts, 1200)
		}
		got, err := c.get(t.Context(), ratesRequest{want.windows})
		check(t, err)
		if len(got.Points) != want.points || store.reads != want.reads || got.Points[0].Start != want.first || got.Missing != 0 {
			t.Errorf("%d: %+v after %d reads, want %+v", i, got, store.reads, want)
		}
		if p := got.Points[0]; p.Conns != 10 || p.P10 < 0.97e5 || p.P10 > 1.03e5 || p.P50 < 1.94e5 || p.P50 > 2.06e5 {
			t.Errorf("%d: %+v", i, p)
		}
	}
}

// TestRatesOfADamagedWindow: it is left out, and counted.
func TestRatesOfADamagedWindow(t *testing.T) {
	c := course{store: &recorded{starts: []int64{0, 600, 900}, bad: 600}}
	for range 2 {
		got, err := c.get(t.Context(), ratesRequest{9})
		if check(t, err); len(got.Points) != 2 || got.Damaged != 1 || got.Missing != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// TestDashboardTurns: while as many questions as may be are being answered, another one waits and an action does not.
func TestDashboardTurns(t *testing.T) {
	h := control.NewHandler(slog.New(slog.DiscardHandler), func(ctx context.Context) string { return link.Caller(ctx).String() })
	asked, release := make(chan bool, 2*deskAsks), make(chan bool)
	control.Handle(h, control.Query[control.None, int]{Name: "hang"}, func(context.Context, control.None) (int, error) { asked <- true; <-release; return 1, nil })
	control.Handle(h, control.Query[control.None, int]{Name: "act", Acts: true}, func(context.Context, control.None) (int, error) { return 2, nil })
	d := desk{of: func(context.Context, string) (popDesk, error) { return popDesk{queries: h, leave: func() {}}, nil }}
	d.share()
	mux := http.NewServeMux()
	mux.Handle("/api/pop/{pop}/v1/{query}", link.Recognized(http.HandlerFunc(d.query), boardTokens, stranger, func(*http.Request, error) {}))
	ask := func(ctx context.Context, query, token string) string {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/pop/chi/v1/"+query, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return strings.TrimSpace(w.Body.String())
	}
	var all sync.WaitGroup
	for i := range deskAsks {
		all.Go(func() { // by two callers
			if got := ask(t.Context(), "hang", []string{"", "look"}[i%2]); got != "1" {
				t.Errorf("answer %q", got)
			}
		})
	}
	for range deskAsks {
		<-asked
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if got := ask(gone, "hang", ""); got != "" || len(asked) != 0 {
		t.Errorf("one more: %q, %d asked", got, len(asked))
	}
	if got := ask(t.Context(), "act", "op"); got != "2" {
		t.Errorf("the action: %q", got)
	}
	close(release)
	all.Wait()
}
