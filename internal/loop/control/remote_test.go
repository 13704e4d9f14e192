package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// far is another host's handler: it counts what it was asked, and answers with err.
type far struct {
	asked atomic.Int32
	err   error
}

func (f *far) serve(t *testing.T) string {
	h := NewHandler(slog.New(slog.DiscardHandler), func(context.Context) string { return "ann" })
	count := func(context.Context, None) (int, error) { f.asked.Add(1); return 7, f.err }
	Handle(h, Query[None, int]{Name: "ask"}, count)
	Handle(h, Query[None, int]{Name: "act", Acts: true}, count)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e *Error
		if errors.As(f.err, &e) && e.Code == Elsewhere { // as a controller refuses, before it reads
			Refuse(w, f.err)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return "https" + strings.TrimPrefix(s.URL, "http")
}

func plainDial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// stopped is a host whose process is stopped: it takes connections.
func stopped(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "https://" + l.Addr().String()
}

// TestUnstored: a stop that one controller cannot store is asked of the next ones, under one id, until one has stored it; else
// the error has the answer of each.
func TestUnstored(t *testing.T) {
	var ids []string
	serve := func(err error) string {
		h := NewHandler(slog.New(slog.DiscardHandler), func(context.Context) string { return "ann" })
		HandleStop(h, func(ctx context.Context, _ bool, _ string) error { ids = append(ids, StopID(ctx)); return err })
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return "https" + strings.TrimPrefix(s.URL, "http")
	}
	held, refused := &Error{Text: "2 of 2 agents stopped", Code: Unstored}, &Error{Text: "may not", Code: Forbidden}
	one, two, three := serve(held), serve(held), serve(nil)
	if err := NewRemote([]string{one, two, three, one}, plainDial).Stop(t.Context(), false, ""); err != nil || len(ids) != 3 || ids[0] == "" || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("%v: %q", err, ids)
	}
	for name, urls := range map[string][]string{"none stores it": {one, two}, "the next refuses": {one, serve(refused), three}} {
		err := NewRemote(urls, plainDial).Stop(t.Context(), false, "")
		var said *Error
		if !errors.As(err, &said) || said.Code != Unstored || !strings.Contains(said.Text, urls[0]+": 2 of 2 agents stopped") || !strings.Contains(said.Text, urls[1]+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ids[3] == ids[0] {
		t.Error("two stops with one id")
	}
}

// TestRemotes: a verb finds the one that answers, asks no other after an answer, whatever it is, and names each
// where none answers.
func TestRemotes(t *testing.T) {
	elsewhere := &Error{Text: "not decided here, but by two", Code: Elsewhere}
	refused := &Error{Text: "frozen", Code: Conflict}
	for _, name := range []string{"ask", "act"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			away, mine, next := &far{err: elsewhere}, &far{}, &far{}
			gone := "https://127.0.0.1:1"
			urls := []string{gone, stopped(t), away.serve(t), mine.serve(t), next.serve(t)}
			c := NewRemote(urls, plainDial)
			c.Timeout = 2 * time.Second
			var got int
			if err := c.call(t.Context(), name, name == "act", nil, &got); err != nil || got != 7 || mine.asked.Load() != 1 || next.asked.Load() != 0 {
				t.Errorf("%s: %d, %v; asked %d and %d times", name, got, err, mine.asked.Load(), next.asked.Load())
			}
			mine.err = refused
			if err := c.call(t.Context(), name, name == "act", nil, &got); err == nil || err.Error() != "frozen" || next.asked.Load() != 0 {
				t.Errorf("%s: a refusal is an answer: %v, and another was asked %d times", name, err, next.asked.Load())
			}
			none := NewRemote(urls[:3], plainDial)
			none.Timeout = 2 * time.Second
			err := none.call(t.Context(), name, name == "act", nil, &got)
			for _, part := range append([]string{elsewhere.Text, "connection refused", "did not answer"}, urls[:3]...) {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v; want %q", name, err, part)
				}
			}
		})
	}
}
