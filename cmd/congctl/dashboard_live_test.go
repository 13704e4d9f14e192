package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
	"github.com/congctl/congctl/internal/tcp/record"
)

const livePath = "/api/pop/chi/v1/live"

// followed is a stream of messages.
type followed struct {
	t    testing.TB
	body *http.Response
	read *bufio.Reader
}

func (b *board) follow(t testing.TB, token string) *followed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+livePath, nil)
	check(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	if token != "" {
		r.Header.Set(tokenHeader, token)
	}
	res, err := http.DefaultClient.Do(r)
	check(t, err)
	t.Cleanup(func() { res.Body.Close() })
	return &followed{t, res, bufio.NewReader(res.Body)}
}

// next is the next message; io.EOF at the end.
func (f *followed) next() (p Pulse, err error) {
	f.t.Helper()
	line, err := f.read.ReadString('\n')
	if err != nil {
		return p, err
	}
	text, ok := strings.CutPrefix(line, "data: ")
	if blank, _ := f.read.ReadString('\n'); !ok || blank != "\n" {
		f.t.Fatalf("message %q then %q", line, blank)
	}
	return p, json.Unmarshal([]byte(text), &p)
}

// TestLive: a page is told the state at once, each change of it, and again without a change.
func TestLive(t *testing.T) {
	b := openBoard(t, 200, config.Default())
	f := b.follow(t, "")
	if h := f.body.Header; f.body.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/event-stream" || h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", f.body.StatusCode, h)
	}
	first, err := f.next()
	check(t, err)
	if !first.Status.Running || first.Status.Plan != 41 || first.Status.Stopped || first.Events != 100 || first.Fleet == "" {
		t.Errorf("first: %+v", first)
	}
	until := func(what string, holds func(Pulse) bool) {
		t.Helper()
		for {
			p, err := f.next()
			if check(t, err); holds(p) {
				return
			}
		}
	}
	check(t, b.Stop(t.Context(), false, "test"))
	until("stop", func(p Pulse) bool { return p.Status.Stopped && p.Fleet == first.Fleet })
	check(t, b.Abort(t.Context(), "test"))
	until("roll-out", func(p Pulse) bool { return p.Status.Stopped && p.Fleet != first.Fleet })
	until("a beat", func(p Pulse) bool { return p.Status.Stopped })
}

// TestLiveState: what changes an answer changes the state, and what changes all the time does not.
func TestLiveState(t *testing.T) {
	p := popDesk{view: pretend(200), fleet: pretend(1).fleet}
	was, err := p.pulse(t.Context())
	check(t, err)
	for name, change := range map[string]func(*Pulse){
		"round": func(p *Pulse) { p.Status.RoundUnixS++ }, "plan": func(p *Pulse) { p.Status.Plan++ }, "force": func(p *Pulse) { p.Status.Agent.Plan++ },
		"stop": func(p *Pulse) { p.Status.Stopped = true }, "freeze": func(p *Pulse) { p.Status.Frozen = true }, "event": func(p *Pulse) { p.Events++ }, "fleet": func(p *Pulse) { p.Fleet = "" },
	} {
		now, agent := was, *was.Status.Agent
		now.Status.Agent = &agent
		if change(&now); now.state() == was.state() {
			t.Errorf("%s: the same state", name)
		}
	}
	same := was
	if same.Status.Ranked++; same.state() != was.state() {
		t.Error("another state")
	}
	f := FleetStatus{Stage: "all", Hosts: []FleetHost{{Host: "a", Connected: true, Share: 0.5}}}
	first := fleetState(f)
	if f.Hosts[0].Share, f.Hosts[0].BytesPerS = 0.6, 1e6; fleetState(f) != first {
		t.Error("another fleet for another share")
	}
	if f.Hosts[0].Connected = false; fleetState(f) == first {
		t.Error("the same fleet without its host")
	}
}

// TestLiveRoles: it is asked for as all else that is read.
func TestLiveRoles(t *testing.T) {
	b := openBoard(t, 1, config.Default())
	for token, want := range map[string]int{"": 200, "op": 200, "look": 200, "ams": 200, "gone": 401} {
		f := b.follow(t, token)
		if f.body.StatusCode != want {
			t.Errorf("%q: %d, want %d", token, f.body.StatusCode, want)
		}
		f.body.Body.Close()
	}
	for path, want := range map[string]int{"/api/pop/ams/v1/live": 404, livePath + "/x": 404} {
		if status, text := b.get(t, path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := b.get(t, livePath, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("from another site: %d %s", status, text)
	}
	if status, text := b.get(t, livePath, "Host", "evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %d %s", status, text)
	}
}

func (b *board) get(t testing.TB, path string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
	check(t, err)
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(r)
	check(t, err)
	defer res.Body.Close()
	line, _ := bufio.NewReader(res.Body).ReadString('\n')
	return res.StatusCode, line
}

// TestLiveBounded: so many pages follow and no more, and one that leaves gives its place back.
func TestLiveBounded(t *testing.T) {
	b := openBoard(t, 1, config.Default())
	var all []*followed
	for i := range liveMost {
		f := b.follow(t, []string{"", "op"}[i%2])
		_, err := f.next()
		check(t, err)
		all = append(all, f)
	}
	f := b.follow(t, "look")
	text, err := io.ReadAll(f.read)
	if check(t, err); f.body.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "too many pages") {
		t.Errorf("one more: %d %s", f.body.StatusCode, text)
	}
	if status, text := b.ask(t, "/api/pop/chi/v1/status", ""); status != http.StatusOK {
		t.Errorf("meanwhile: %d %s", status, text)
	}
	all[0].body.Body.Close()
	eventually(t, "a place", patience, func() bool { return b.follow(t, "look").body.StatusCode == http.StatusOK })
	if f := b.follow(t, "op"); f.body.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("more than half for one: %d", f.body.StatusCode)
	}
}

// stuck is a page that takes nothing: each write waits for its deadline.
type stuck struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }
func (s *stuck) SetReadDeadline(time.Time) error     { return nil }
func (s *stuck) Header() http.Header                 { return http.Header{} }
func (s *stuck) Flush()                              {}
func (s *stuck) Write([]byte) (int, error) {
	if s.deadline.IsZero() {
		return 0, errors.New("no deadline")
	}
	return 0, context.DeadlineExceeded
}

// TestLiveSlow: a page that does not take its message in time is dropped, and each write has a limit.
func TestLiveSlow(t *testing.T) {
	d := desk{looks: looks{of: map[string]*look{}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, livePath, nil)
	check(t, err)
	w := &stuck{}
	d.stream(w, r, "chi", Pulse{}) // returns
	if left := time.Until(w.deadline); left <= 0 || left > liveWrite {
		t.Errorf("%s for a write", left)
	}
}

// TestLiveEnds: the process does not wait for pages that follow it.
func TestLiveEnds(t *testing.T) {
	s, err := listener.Listen(t.Context(), listener.Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	p := pretend(1)
	d := desk{log: slog.New(slog.DiscardHandler), pops: func() []string { return []string{"chi"} }, of: func(context.Context, string) (popDesk, error) {
		return popDesk{view: p, leave: func() {}}, nil
	}}
	check(t, d.serve(s, config.Default(), boardTokens))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	well := func(context.Context) error { return nil }
	go func() {
		done <- s.Serve(ctx, listener.Source{Collect: func(context.Context, *metrics.Page) {}, Alive: well, Ready: well})
	}()
	f := (&board{url: "http://" + s.Addr()}).follow(t, "")
	_, err = f.next()
	check(t, err)
	stop()
	for err == nil {
		_, err = f.next()
	}
	if !errors.Is(err, io.EOF) { // not cut off
		t.Errorf("the stream ended with %v", err)
	}
	check(t, <-done)
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("the port is still open")
	}
}

// TestLiveLooksOnce: pages share a look, a failed one is not kept, and a PoP that is not here ends the stream.
func TestLiveLooksOnce(t *testing.T) {
	l, n := looks{of: map[string]*look{}}, 0
	fresh := func(context.Context) (Pulse, error) { n++; return Pulse{Events: int64(n)}, nil }
	fails := func(context.Context) (Pulse, error) { return Pulse{}, io.ErrUnexpectedEOF }
	if _, err := l.get(t.Context(), "chi", fails); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	for range 5 {
		if p, err := l.get(t.Context(), "chi", fresh); err != nil || p.Events != 1 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if p, err := l.get(t.Context(), "ams", fresh); err != nil || p.Events != 2 {
		t.Errorf("another PoP: %+v, %v", p, err)
	}
}

// TestRecent: the rates of those asked for, no more than are in view.
func TestRecent(t *testing.T) {
	b := openBoard(t, 10, config.Default())
	got, err := recentOf(b)(t.Context(), recentRequest{[]record.Prefix{b.network(0), b.network(1)}, 36})
	if check(t, err); len(got.Rates) != 2 || len(got.Rates[1]) != 36 {
		t.Errorf("%+v", got)
	}
	for _, q := range []recentRequest{{make([]record.Prefix, mostRecent+1), 36}, {nil, 0}, {nil, mostRecentWindows + 1}} {
		var e *control.Error
		if _, err := recentOf(b)(t.Context(), q); !errors.As(err, &e) || e.Code != control.BadRequest {
			t.Errorf("%d, %d: %v", len(q.Prefixes), q.Windows, err)
		}
	}
}
