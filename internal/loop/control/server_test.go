package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

type ask struct {
	Text  string  `json:"text,omitempty"`
	Value float64 `json:"value,omitempty"`
}

var (
	echo = Query[ask, ask]{Name: "echo"}
	poke = Query[ask, None]{Name: "poke", Acts: true}
)

func handleEcho(s *Server) {
	Handle(s.Handler, echo, func(_ context.Context, q ask) (ask, error) { return q, nil })
}

func TestAsk(t *testing.T) {
	path := start(t, Options{}, func(s *Server) {
		handleEcho(s)
		Handle(s.Handler, Query[ask, ask]{Name: "refuse"}, func(context.Context, ask) (ask, error) {
			return ask{}, fmt.Errorf("look up prefix: %w", &Error{Text: "not tracked", Hint: "congctl prefixes", Code: NotFound})
		})
		Handle(s.Handler, Query[ask, ask]{Name: "break"}, func(context.Context, ask) (ask, error) { return ask{}, io.ErrUnexpectedEOF })
		Handle(s.Handler, Query[ask, ask]{Name: "nan"}, func(context.Context, ask) (ask, error) { return ask{Value: math.NaN()}, nil })
	})
	c := NewClient(path)
	if got, err := Ask(t.Context(), c, echo, ask{Text: "a \"b\"\n", Value: 0.1}); err != nil || got != (ask{"a \"b\"\n", 0.1}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, want := range map[string]Error{
		"refuse":  {"look up prefix: not tracked", "congctl prefixes", NotFound},
		"break":   {"unexpected EOF", "", Internal},
		"nan":     {"encode answer: json: unsupported value: NaN", "", Internal},
		"nothing": {"no such query: /v1/nothing", "congctl and the running process may be of different versions", NotFound},
	} {
		_, err := Ask(t.Context(), c, Query[ask, ask]{Name: name}, ask{})
		if e, ok := errors.AsType[*Error](err); !ok || *e != want {
			t.Errorf("%s: got %#v, want %+v", name, err, want)
		}
	}
}

// raw sends bytes as they are and returns the status line and the body.
func raw(t *testing.T, path, request string) string {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	// The server may answer and close before it has read all of a bad request.
	_, _ = io.WriteString(c, request)
	b, _ := io.ReadAll(c)
	return string(b)
}

func post(name, body string) string {
	return fmt.Sprintf("POST /v1/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", name, len(body), body)
}

func TestMalformedRequests(t *testing.T) {
	path := start(t, Options{}, func(s *Server) {
		handleEcho(s)
		Handle(s.Handler, poke, func(context.Context, ask) (None, error) { return None{}, nil })
	})
	for _, c := range []struct{ name, request, want string }{
		{"no HTTP", "hello\r\n\r\n", "400"},
		{"no JSON", post("echo", "{"), `"code":"bad-request"`},
		{"unknown field", post("echo", `{"txet":"a"}`), `unknown field`},
		{"wrong type", post("echo", `{"text":1}`), `"code":"bad-request"`},
		{"two values", post("echo", `{} {}`), `more than one JSON value`},
		{"empty body", post("echo", ""), " 200 "},
		{"GET of a question", "GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", " 200 "},
		{"GET of an action", "GET /v1/poke HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `"code":"bad-method"`},
		{"DELETE", "DELETE /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `"code":"bad-method"`},
		{"root", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `"code":"not-found"`},
		{"large body", post("echo", `{"text":"`+strings.Repeat("x", maxBody)+`"}`), `"code":"too-large"`},
		{"large header", "GET /v1/echo HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 4*maxHeader) + "\r\n\r\n", " 431 "},
	} {
		if got := raw(t, path, c.request); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %.300q, want %s", c.name, got, c.want)
		}
	}
}

// A client that sends half a request is cut off and delays no other.
func TestSlowClient(t *testing.T) {
	path := start(t, Options{Patience: 50 * time.Millisecond}, handleEcho)
	for _, half := range []string{"POST /v1/echo HT", "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"} {
		got := raw(t, path, half) // ends when the server closes; its deadline is far away
		if strings.Contains(got, " 200 ") {
			t.Errorf("%q was answered: %q", half, got)
		}
	}
	// The patience holds for this one, too, and on a busy machine it may be over first.
	var err error
	for range 100 {
		if _, err = Ask(t.Context(), NewClient(path), echo, ask{}); err == nil {
			return
		}
	}
	t.Error(err)
}

func TestOnlyActionsThatDoNotEndWellAreLogged(t *testing.T) {
	var log strings.Builder
	path := start(t, Options{Log: textLog(&log)}, func(s *Server) {
		handleEcho(s)
		Handle(s.Handler, poke, func(ctx context.Context, q ask) (None, error) {
			p, ok := PeerOf(ctx)
			if !ok || int(p.PID) != os.Getpid() || int(p.UID) != os.Getuid() {
				return None{}, fmt.Errorf("peer %+v", p)
			}
			if q.Text == "no" {
				return None{}, &Error{Text: "frozen", Code: Conflict}
			}
			return None{}, nil
		})
	})
	c := NewClient(path)
	if _, err := Ask(t.Context(), c, poke, ask{Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(t.Context(), c, poke, ask{Text: "no"}); err == nil {
		t.Fatal("not refused")
	}
	if _, err := Ask(t.Context(), c, echo, ask{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], `msg="poke, asked by `) || !strings.Contains(lines[0], "err=frozen") ||
		!strings.Contains(lines[0], fmt.Sprintf("uid %d", os.Getuid())) || !strings.Contains(lines[0], fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("logged:\n%s", log.String())
	}
}

// A question in progress is answered although the server was told to end.
func TestDrain(t *testing.T) {
	s, err := Listen(Options{Path: t.TempDir() + "/s"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	Handle(s.Handler, echo, func(_ context.Context, q ask) (ask, error) {
		stop()
		<-ctx.Done()
		return q, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	if got, err := Ask(context.Background(), NewClient(s.opt.Path), echo, ask{Text: "x"}); err != nil || got.Text != "x" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestForeignServer(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: http.NotFoundHandler()}
	go hs.Serve(l)
	defer hs.Close()
	_, err = Ask(t.Context(), NewClient(path), echo, ask{})
	if err == nil || !strings.Contains(err.Error(), "answered 404") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "{}", `{"text":"a"}`, `{"text":"a"} x`, "[", `{"value":1e999}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var q ask
		if decode(b, &q) == nil && len(bytes.TrimSpace(b)) > 0 && b[0] == '[' {
			t.Errorf("%q was taken for an object", b)
		}
	})
}
