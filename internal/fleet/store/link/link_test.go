package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// controller takes what comes and says what it is told to.
type controller struct {
	mu     sync.Mutex
	from   []mtls.Identity
	frames []byte
	report Report
	say    error
	orders chan Order
	have   Have // of the last agent that followed

	elsewhere bool // the PoP is another's
	leaves    bool // ends the stream after one order
}

var errElsewhere = errors.New("another controller decides")

func (c *controller) Push(_ context.Context, from mtls.Identity, frames []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from, c.frames = append(c.from, from), append(c.frames, frames...)
	return c.say
}

func (c *controller) Follow(ctx context.Context, _ mtls.Identity, h Have, send func(Order) error) error {
	if h.Hash == "panic" {
		panic("secret")
	}
	c.mu.Lock()
	c.have = h
	c.mu.Unlock()
	if c.elsewhere {
		return errElsewhere
	}
	for {
		select {
		case o := <-c.orders:
			if err := send(o); err != nil {
				return err
			}
			if c.leaves {
				return errElsewhere
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *controller) Report(_ context.Context, from mtls.Identity, r Report) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from, c.report = append(c.from, from), r
	return c.say
}

func (c *controller) pushed() (int, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.from), bytes.Clone(c.frames)
}

var (
	host = mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"}
	self = mtls.Identity{Role: mtls.Controller, Name: "main"}
)

const patience = 10 * time.Second

// planBytes of a client: more than any plan in these tests but one.
const planBytes = 100_000

// secrets are tokens; "old" has expired.
type secrets map[string]mtls.Identity

func (s secrets) Holder(secret string, _ time.Time) (mtls.Identity, error) {
	if secret == "old" {
		return mtls.Identity{}, errors.New("token script expired")
	}
	id, ok := s[secret]
	if !ok {
		return id, errors.New("no such token")
	}
	return id, nil
}

func serve(t *testing.T, a *mtlstest.Authority, c *controller, as mtls.Files) string {
	t.Helper()
	own := open(t, as)
	mux := http.NewServeMux()
	mux.Handle(NewHandler(c))
	mux.HandleFunc("/pop/chi/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, Caller(r.Context())) })
	return serveHandler(t, own, Authenticated(mux, own, secrets{"good": {Role: mtls.Operator, Name: "script", Token: true}}))
}

func serveHandler(t *testing.T, own *mtls.Credentials, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS, s.EnableHTTP2 = own.Server(), true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s.URL
}

func open(t *testing.T, f mtls.Files) *mtls.Credentials {
	t.Helper()
	c, err := mtls.Open(f, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func client(t *testing.T, url string, f mtls.Files) *Client {
	t.Helper()
	return NewClient([]string{url}, open(t, f).Dial, patience, planBytes)
}

// TestLink sends each message once over real TLS.
func TestLink(t *testing.T) {
	a, c := mtlstest.New(t), &controller{orders: make(chan Order, 1)}
	agent := client(t, serve(t, a, c, a.Issue(self)), a.Issue(host))
	batch := bytes.Repeat([]byte("batch "), 50)
	if err := agent.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if n, got := c.pushed(); n != 1 || c.from[0] != host || !bytes.Equal(got, batch) {
		t.Errorf("pushed %q by %v", got, c.from)
	}
	r := Report{Boot: record.BootID{1, 2}, Plan: 7, Hash: "h", InForce: 3, Refusal: "no", Stopped: true}
	if err := agent.Report(t.Context(), r); err != nil || c.report != r {
		t.Errorf("reported %+v, %v", c.report, err)
	}
	want := Order{Stopped: true, Evict: true, Plan: []byte("plan"), ClientKeys: []record.ClientKey{{Day: 20783, Key: []byte("today")}, {Day: 20784, Key: []byte("tomorrow")}}}
	c.orders <- want
	ctx, stop := context.WithCancel(t.Context())
	err := agent.Follow(ctx, Have{}, func(o Order) {
		if o.Stopped != want.Stopped || o.Evict != want.Evict || !bytes.Equal(o.Plan, want.Plan) || !reflect.DeepEqual(o.ClientKeys, want.ClientKeys) {
			t.Errorf("order %+v", o)
		}
		stop()
	})
	if err == nil {
		t.Error("a stream that was ended has no error")
	}
}

// TestGzip: an agent of the small build has no zstd.
func TestGzip(t *testing.T) {
	a, c := mtlstest.New(t), &controller{orders: make(chan Order, 1)}
	agent := newClient([]string{serve(t, a, c, a.Issue(self))}, open(t, a.Issue(host)).Dial, patience, planBytes, connect.WithSendGzip())
	batch := bytes.Repeat([]byte("batch"), minPacked)
	if err := agent.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, got := c.pushed(); !bytes.Equal(got, batch) {
		t.Errorf("%d bytes came, want %d", len(got), len(batch))
	}
	c.orders <- Order{Plan: batch}
	ctx, stop := context.WithCancel(t.Context())
	_ = agent.Follow(ctx, Have{}, func(o Order) {
		if !bytes.Equal(o.Plan, batch) {
			t.Errorf("a plan of %d bytes came, want %d", len(o.Plan), len(batch))
		}
		stop()
	})
	if ctx.Err() == nil {
		t.Error("no order came")
	}
}

// TestRefusals: what may be sent again and what may not.
func TestRefusals(t *testing.T) {
	a, c := mtlstest.New(t), &controller{}
	agent := client(t, serve(t, a, c, a.Issue(self)), a.Issue(host))
	for _, say := range []error{ErrRefused, errors.New("disk full")} {
		c.say = say
		err := agent.Send(t.Context(), []byte("x"))
		if err == nil || errors.Is(err, ErrRefused) != errors.Is(say, ErrRefused) || !strings.Contains(err.Error(), say.Error()) {
			t.Errorf("%v came as %v", say, err)
		}
	}
	c.say = nil
	if err := agent.Send(t.Context(), make([]byte, maxPush+1)); !errors.Is(err, ErrRefused) {
		t.Errorf("a batch beyond the limit, of zeros that compress to nothing: %v", err)
	}
	if err := agent.Follow(t.Context(), Have{Hash: "panic"}, func(Order) {}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a fault of the controller: %v", err)
	}
	if err := agent.Send(t.Context(), []byte("x")); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

// TestStrangers: each is refused before anything of it is read.
func TestStrangers(t *testing.T) {
	a, foreign, c := mtlstest.New(t), mtlstest.New(t), &controller{}
	at := serve(t, a, c, a.Issue(self))
	mine := a.Issue(host)
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	early := func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }
	serverOnly := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	second := func(c *x509.Certificate) {
		c.URIs = append(c.URIs, mtls.Identity{Role: mtls.Operator, Name: "eve"}.URI())
	}
	none := func(c *x509.Certificate) { c.URIs = nil }
	uri := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	for name, f := range map[string]mtls.Files{
		"another authority":          {Cert: foreign.Issue(host).Cert, CA: mine.CA},
		"expired":                    a.Issue(host, expired),
		"not yet valid":              a.Issue(host, early),
		"a certificate for servers":  a.Issue(host, serverOnly),
		"an operator":                a.Issue(mtls.Identity{Role: mtls.Operator, Name: "ann"}),
		"a viewer":                   a.Issue(mtls.Identity{Role: mtls.Viewer, Name: "bob"}),
		"a controller":               a.Issue(self),
		"two identities":             a.Issue(host, second),
		"no identity":                a.Issue(host, none),
		"an unknown role":            a.IssueURI(uri("congctl://admin/chi/edge-1")),
		"a path for a PoP":           a.IssueURI(uri("congctl://agent/..%2F..%2Fetc/edge-1")),
		"a PoP that is a folder":     a.IssueURI(uri("congctl://agent/../edge-1")),
		"a name with a line break":   a.IssueURI(uri("congctl://agent/chi/edge%0A1")),
		"no host":                    a.IssueURI(uri("congctl://agent/chi")),
		"a host too long":            a.IssueURI(uri("congctl://agent/chi/" + strings.Repeat("x", 64))),
		"the name of another scheme": a.IssueURI(uri("spiffe://agent/chi/edge-1")),
	} {
		if f.Key == "" {
			other := foreign.Issue(host)
			f = mtls.Files{Cert: other.Cert, Key: other.Key, CA: mine.CA}
		}
		if err := client(t, at, f).Send(t.Context(), []byte("x")); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	withoutCertificate(t, at)
	if n, _ := c.pushed(); n != 0 {
		t.Errorf("%d requests of strangers reached the controller: %v", n, c.from)
	}
}

// withoutCertificate is the strangers that show none.
func withoutCertificate(t *testing.T, at string) {
	t.Helper()
	const push, ask = "/congctl.v1.Fleet/Push", "/pop/chi/v1/status"
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for name, s := range map[string]struct {
		path, header string
		status       int
		says         string
	}{
		"nothing":                              {ask, "", http.StatusUnauthorized, "no certificate of the fleet's authority"},
		"nothing, to the agents' service":      {push, "", http.StatusUnauthorized, "no certificate"},
		"a wrong token":                        {ask, "Bearer bad", http.StatusUnauthorized, "no such token"},
		"an expired token":                     {ask, "Bearer old", http.StatusUnauthorized, "token script expired"},
		"an empty token":                       {ask, "Bearer ", http.StatusUnauthorized, "no certificate"},
		"a token of another scheme":            {ask, "Basic good", http.StatusUnauthorized, "no certificate"},
		"a token in the address":               {ask + "?token=good&access_token=good", "", http.StatusUnauthorized, "no certificate"},
		"a token to the agents' service":       {push, "Bearer good", http.StatusForbidden, "token script is no agent"},
		"a wrong token to the agents' service": {push, "Bearer bad", http.StatusUnauthorized, "no such token"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+s.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", s.header)
		res, err := plain.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != s.status || !strings.Contains(string(body), s.says) {
			t.Errorf("%s: %s: %s", name, res.Status, body)
		}
	}
}

// TestCallers: a token is known in place of a certificate, and a certificate in place of a token.
func TestCallers(t *testing.T) {
	a := mtlstest.New(t)
	at := serve(t, a, &controller{}, a.Issue(self))
	ann := open(t, a.Issue(mtls.Identity{Role: mtls.Operator, Name: "ann"}))
	none := open(t, mtls.Files{CA: a.Issue(host).CA})
	for name, c := range map[string]struct {
		creds       *mtls.Credentials
		token, want string
	}{
		"a certificate": {ann, "", "congctl://operator/ann"}, "a token": {none, "good", "token script"}, "both": {ann, "good", "congctl://operator/ann"},
	} {
		h := &http.Client{Transport: &http.Transport{DialTLSContext: c.creds.Dial, ForceAttemptHTTP2: true}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/pop/chi/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.token)
		res, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != c.want {
			t.Errorf("%s: %s, %q", name, res.Status, body)
		}
	}
}

// TestFalseControllers: an agent sends nothing to what is no controller of its fleet.
func TestFalseControllers(t *testing.T) {
	a, foreign := mtlstest.New(t), mtlstest.New(t)
	elsewhere := func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"elsewhere.example"} }
	for name, f := range map[string]mtls.Files{
		"another authority": foreign.Issue(self), "an agent": a.Issue(host), "another name": a.Issue(self, elsewhere),
	} {
		c := &controller{}
		f.CA = a.Issue(host).CA // it lets our agents in
		if err := client(t, serve(t, a, c, f), a.Issue(host)).Send(t.Context(), []byte("x")); err == nil || c.frames != nil {
			t.Errorf("%s: sent: %v", name, err)
		}
	}
}

// TestRenewal: a certificate that is renewed on disk is used without a restart, and a broken file
// leaves the one before it in use.
func TestRenewal(t *testing.T) {
	a, c := mtlstest.New(t), &controller{}
	f, next := a.Issue(self), a.Issue(mtls.Identity{Role: mtls.Controller, Name: "renewed"})
	own := open(t, f)
	replace := func(cert, key []byte) {
		t.Helper()
		for path, b := range map[string][]byte{f.Cert: cert, f.Key: key} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(path string) []byte { b, _ := os.ReadFile(path); return b }
	replace([]byte("broken"), []byte("broken"))
	if id, err := own.Self(); err != nil || id != self {
		t.Errorf("with broken files: %v, %v", id, err)
	}
	replace(read(next.Cert), read(next.Key))
	if id, err := own.Self(); err != nil || id.Name != "renewed" {
		t.Errorf("renewed: %v, %v", id, err)
	}
	if err := client(t, serve(t, a, c, f), a.Issue(host)).Send(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
}

var quiet = log.New(io.Discard, "", 0) // the refusals that the tests provoke

// TestFollowElsewhere: of several controllers an agent follows the one that answers for its PoP, and names each if none does.
func TestFollowElsewhere(t *testing.T) {
	a := mtlstest.New(t)
	away, mine := &controller{elsewhere: true}, &controller{orders: make(chan Order, 1)}
	urls := []string{"https://127.0.0.1:1", serve(t, a, away, a.Issue(self)), serve(t, a, mine, a.Issue(self))}
	agent := NewClient(urls, open(t, a.Issue(host)).Dial, patience, planBytes)
	ctx, stop := context.WithCancel(t.Context())
	mine.orders <- Order{Stopped: true}
	if err := agent.Follow(ctx, Have{}, func(Order) { stop() }); err == nil {
		t.Error("a stream that was ended has no error")
	}
	if err := agent.Report(t.Context(), Report{Plan: 7}); err != nil || mine.report.Plan != 7 || away.report.Plan != 0 {
		t.Errorf("the report went to %+v and %+v: %v", away.report, mine.report, err)
	}
	none := NewClient(urls[:2], open(t, a.Issue(host)).Dial, patience, planBytes)
	err := none.Follow(t.Context(), Have{}, func(Order) { t.Error("an order") })
	for _, part := range []string{urls[0] + ": follow: connect to controller", urls[1] + ": follow: " + errElsewhere.Error()} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v; want %q", err, part)
		}
	}
}

// TestFollowAfterAStop: a controller without the PoP may send a stop and then end the stream. The next call asks the next
// controller; what is sent before that one answers still goes to the first.
func TestFollowAfterAStop(t *testing.T) {
	a := mtlstest.New(t)
	first, second := &controller{orders: make(chan Order, 2), leaves: true}, &controller{orders: make(chan Order, 1)}
	agent := NewClient([]string{serve(t, a, first, a.Issue(self)), serve(t, a, second, a.Issue(self))}, open(t, a.Issue(host)).Dial, patience, planBytes)
	for range 2 {
		first.orders <- Order{Stopped: true}
	}
	second.orders <- Order{Plan: []byte("plan")}
	stops := 0
	if err := agent.Follow(t.Context(), Have{}, func(Order) { stops++ }); err == nil || !strings.Contains(err.Error(), errElsewhere.Error()) || stops != 1 {
		t.Fatalf("%d orders, %v", stops, err)
	}
	if err := agent.Report(t.Context(), Report{Plan: 7}); err != nil || first.report.Plan != 7 {
		t.Errorf("the report of the stop: %v, %+v", err, first.report)
	}
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	var got []Order
	_ = agent.Follow(ctx, Have{}, func(o Order) { got = append(got, o); end() })
	if len(got) != 1 || got[0].Stopped {
		t.Errorf("%+v, want the plan of the second", got)
	}
}

// TestStoppedController: one whose process is stopped takes connections, and holds an agent up no longer than a request may take.
func TestStoppedController(t *testing.T) {
	a, mine := mtlstest.New(t), &controller{orders: make(chan Order, 1)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	agent := NewClient([]string{"https://" + l.Addr().String(), serve(t, a, mine, a.Issue(self))}, open(t, a.Issue(host)).Dial, 300*time.Millisecond, planBytes)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mine.orders <- Order{}
	got := false
	for ctx.Err() == nil { // a busy machine may take longer than that for the one that runs, too
		_ = agent.Follow(ctx, Have{}, func(Order) { got = true; stop() })
	}
	if !got {
		t.Error("no order came of the one that runs")
	}
}
