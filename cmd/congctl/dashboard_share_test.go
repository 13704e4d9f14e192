package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/config"
)

// TestPlaces: one holder has half at most, another gets in, and what is given back is taken by who waits.
func TestPlaces(t *testing.T) {
	p := newPlaces(4)
	now, done := context.WithCancel(t.Context())
	done()
	var held []func()
	for i, c := range []struct {
		holder string
		want   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", true}, {"b", false}, {"d", false}} {
		give := p.take(now, c.holder)
		if (give != nil) != c.want {
			t.Errorf("%d: %s has a place: %t", i, c.holder, give != nil)
		}
		held = append(held, give)
	}
	got := make(chan func())
	go func() { got <- p.take(t.Context(), "d") }()
	held[0]()
	(<-got)()
	for _, i := range []int{1, 3, 4} {
		held[i]()
	}
	if p.taken != 0 || len(p.of) != 0 {
		t.Errorf("%d taken, of %v", p.taken, p.of)
	}
}

// TestBudget: one holder's end is not another's, of all together each still has the least, and a minute begins anew.
func TestBudget(t *testing.T) {
	b := &budget{each: 6 * time.Second, all: 12 * time.Second, least: time.Second}
	at := time.Unix(1_800_000_000, 0)
	for i, c := range []struct {
		holder string
		cost   time.Duration
		over   bool
	}{
		{"a", 6 * time.Second, false}, {"a", time.Millisecond, true}, {"b", time.Second, false}, {"c", 4999 * time.Millisecond, false}, {"d", time.Second, false},
		{"c", 0, true}, {"d", 0, false}, {"d", time.Millisecond, true}, {"e", time.Second, false},
	} {
		if left, over := b.take(c.holder, c.cost, at); over != c.over || left != time.Minute {
			t.Errorf("%d: %t, %s left", i, over, left)
		}
	}
	if left, over := b.take("a", time.Second, at.Add(59*time.Second)); !over || left != time.Second {
		t.Errorf("a second before: %t, %s left", over, left)
	}
	for i := range 3 * mostHolders {
		b.take(strconv.Itoa(i), 0, at)
	}
	if len(b.spent) > mostHolders+1 {
		t.Errorf("%d holders are counted", len(b.spent))
	}
	if _, over := b.take("a", time.Second, at.Add(time.Minute)); over || len(b.spent) != 1 {
		t.Errorf("the next minute: %t, %d holders", over, len(b.spent))
	}
}

// TestBudgetOfAnAnswer: what an answer took is counted, also of one that ended early.
func TestBudgetOfAnAnswer(t *testing.T) {
	for name, end := range map[string]func(){"whole": func() {}, "cut": func() { panic(http.ErrAbortHandler) }} {
		b := &budget{each: time.Hour, all: time.Hour}
		func() {
			defer func() { _ = recover() }()
			b.charge("a", func() {
				for began := threadTime(); threadTime()-began < 20*time.Millisecond; {
				}
				end()
			})
		}()
		if b.spent["a"] < 20*time.Millisecond || b.spent["a"] > 2*time.Second {
			t.Errorf("%s: %s", name, b.spent["a"])
		}
	}
}

// TestDashboardBudget: who has spent it waits for the next minute; a token, an action, a probe and a scrape do not.
func TestDashboardBudget(t *testing.T) {
	b := openBoard(t, 10, config.Default())
	b.desk.budget.mu.Lock()
	b.desk.budget.each = -1
	b.desk.budget.mu.Unlock()
	for _, c := range []struct {
		query, token string
		want         int
	}{{"prefixes", "", 429}, {"effect", "", 429}, {"nothing", "", 429}, {"prefixes", "look", 200}, {"status", "op", 200}, {"stop", "op", 200}, {"stop", "", 403}} {
		if status, text := b.ask(t, "/api/pop/chi/v1/"+c.query, c.token); status != c.want {
			t.Errorf("%s by %q: %d %s", c.query, c.token, status, text)
		}
	}
	res, err := http.Post(b.url+"/api/pop/chi/v1/prefixes", "", nil)
	check(t, err)
	check(t, res.Body.Close())
	if wait, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
		t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
	}
	for _, path := range []string{"/metrics", "/healthz", "/", "/api/desk"} {
		if status, _ := b.get(t, path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestPace: who asks more than its budget waits, and still gets its answer.
func TestPace(t *testing.T) {
	b := requestBudget()
	ctx, done := context.WithCancel(t.Context())
	done() // nobody waits for it
	for range b.each/requestCost + 10 {
		b.pace(ctx)
	}
	if _, over := b.take("", 0, time.Now()); !over && b.sum > b.each { // else a minute has ended meanwhile
		t.Errorf("%s spent", b.sum)
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) { u.t.Error("a body was read"); return 0, io.EOF }

// TestDashboardCompares for operators of the PoP alone, and reads nobody else's plan.
func TestDashboardCompares(t *testing.T) {
	b := openBoard(t, 1, config.Default())
	mux := http.NewServeMux()
	mux.Handle("/api/pop/{pop}/v1/{query}", link.Recognized(http.HandlerFunc(b.desk.query), boardTokens, stranger, func(*http.Request, error) {}))
	for token, want := range map[string]int{"": 403, "look": 403, "ams": 403, "op": 200} {
		var body io.Reader = unread{t}
		if want == http.StatusOK {
			body = strings.NewReader(`{"text":"congctl-plan 2\n"}`)
		}
		r := httptest.NewRequest(http.MethodPost, "/api/pop/chi/v1/compare", body)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d %s", token, w.Code, w.Body)
		}
	}
}

// TestDashboardByTokenOnly: then nothing is read without one, nor of another PoP, and the page itself can be loaded.
func TestDashboardByTokenOnly(t *testing.T) {
	cfg := config.Default()
	cfg.Metrics.Dashboard = config.DashboardToken
	b := openBoard(t, 1, cfg)
	for _, query := range []string{"status", "events", "plan", "prefixes", "effect", "stop", "nothing"} {
		want := map[string]int{"": 401, "gone": 401, "ams": 403, "look": 200}
		switch query {
		case "stop":
			want["look"] = 403
		case "nothing":
			want["look"] = 404
		}
		for token, want := range want {
			if status, text := b.ask(t, "/api/pop/chi/v1/"+query, token); status != want {
				t.Errorf("%s by %q: %d, want %d: %s", query, token, status, want, text)
			}
		}
	}
	for token, want := range map[string]int{"": 401, "ams": 403, "look": 200} {
		f := b.follow(t, token)
		if f.body.Body.Close(); f.body.StatusCode != want {
			t.Errorf("live by %q: %d, want %d", token, f.body.StatusCode, want)
		}
	}
	for path, want := range map[string]int{"/": 200, "/api/desk": 401, "/metrics": 200, "/healthz": 200} {
		if status, text := b.get(t, path); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, text)
		}
	}
	if _, text := b.get(t, "/api/desk", tokenHeader, "ams"); !strings.Contains(text, `"pops":[]`) || strings.Contains(text, "chi") {
		t.Errorf("a token of another PoP learns of %s", text)
	}
}

// TestTokenInClear is refused, and its holder learns why, unless nobody else could read it.
func TestTokenInClear(t *testing.T) {
	h := ofHeader(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) }))
	for _, c := range []struct {
		from, header, value string
		want                int
	}{
		{"127.0.0.1:9", tokenHeader, "x", 200}, {"127.9.9.9:9", tokenHeader, "x", 200}, {"[::1]:9", "Authorization", "Bearer x", 200}, {"[::ffff:127.0.0.1]:9", tokenHeader, "x", 200},
		{"203.0.113.9:9", tokenHeader, "x", 403}, {"203.0.113.9:9", "Authorization", "bearer x", 403}, {"[2001:db8::1]:9", tokenHeader, "x", 403}, {"?", tokenHeader, "x", 403},
		{"203.0.113.9:9", "Authorization", "Basic x", 200}, {"203.0.113.9:9", "X-Forwarded-For", "127.0.0.1", 200},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/pop/chi/v1/stop", nil)
		r.RemoteAddr = c.from
		r.Header.Set(c.header, c.value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || c.want == 403 && !strings.Contains(w.Body.String(), "token came over plain HTTP") {
			t.Errorf("%v: %d %s", c, w.Code, w.Body)
		}
	}
}

// TestWhereThePageIs: with the metrics on loopback, else nowhere or where the configuration says.
func TestWhereThePageIs(t *testing.T) {
	for _, c := range []struct{ listen, page, want string }{
		{"", "", "metrics"}, {"127.0.0.1:0", "", "metrics"}, {"localhost:0", "", "metrics"}, {"LOCALHOST:0", "", "metrics"}, {"[::1]:0", "", "metrics"},
		{"0.0.0.0:0", "", "none"}, {":0", "", "none"}, {"[::]:0", "", "none"}, {"203.0.113.1:0", "", "none"}, {"edge.example.net:0", "", "none"}, {"off", "", "none"},
		{"0.0.0.0:0", "127.0.0.1:0", "own"}, {"off", "127.0.0.1:0", "own"}, {"0.0.0.0:0", "0.0.0.0:0", "metrics"},
	} {
		m := config.Default().Metrics
		m.Listen, m.DashboardListen = c.listen, c.page
		metrics, err := openListener(t.Context(), "127.0.0.1:0", false, slog.New(slog.DiscardHandler))
		check(t, err)
		got, err := openPage(t.Context(), m, "127.0.0.1:0", metrics, slog.New(slog.DiscardHandler))
		check(t, err)
		is := "own"
		switch got {
		case nil:
			is = "none"
		case metrics:
			is = "metrics"
		default:
			check(t, got.Close())
		}
		if check(t, metrics.Close()); is != c.want {
			t.Errorf("%+v: %s", c, is)
		}
	}
}

// TestRecentEffect: times in one window are one question, the last few answers are kept, and no fault is.
func TestRecentEffect(t *testing.T) {
	var asked []effectQuery
	e := recentEffect{window: time.Hour, ask: func(_ context.Context, q effectQuery) (*effects.View, error) {
		if asked = append(asked, q); q.By == "fault" {
			return nil, errors.New("no")
		}
		return &effects.View{}, nil
	}}
	get := func(q effectQuery) { _, _ = e.get(t.Context(), q) }
	for _, since := range []string{"2026-01-02T03:00:00Z", "2026-01-02T02:00:01Z", "2026-01-02T02:59:59Z", "2026-01-02T04:30:00+02:00"} {
		get(effectQuery{Since: since})
	}
	if want := []effectQuery{{Since: "2026-01-02T03:00:00Z"}}; !slices.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
	for day := range effectsKept {
		get(effectQuery{Since: "2026-01-1" + strconv.Itoa(day) + "T00:00:00Z"})
	}
	get(effectQuery{Since: "2026-01-02T03:00:00Z"}) // forgotten
	get(effectQuery{Since: "2026-01-13T00:00:00Z"}) // kept
	if len(asked) != effectsKept+2 || len(e.kept) != effectsKept {
		t.Errorf("%d asked, %d kept", len(asked), len(e.kept))
	}
	for range 2 {
		get(effectQuery{Since: "24h", By: "fault"})
		get(effectQuery{Since: "never"})
		get(effectQuery{Since: "1s"}) // after the last whole window
	}
	if n := len(asked); n < effectsKept+6 || asked[n-1].Since == "" {
		t.Errorf("%d asked: %v", n, asked)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if n := len(asked); n > 0 {
		if _, err := e.get(gone, effectQuery{Since: "30d"}); err == nil || len(asked) != n {
			t.Error("asked for who has left")
		}
	}
}
