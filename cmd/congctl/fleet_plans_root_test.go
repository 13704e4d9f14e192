package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
)

// usurper holds a controller's certificate and sends what it likes.
type usurper struct {
	orders  chan link.Order
	reports chan link.Report

	mu     sync.Mutex // guards frames
	frames int
}

func (u *usurper) Push(context.Context, mtls.Identity, []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.frames++
	return nil
}

func (u *usurper) Follow(ctx context.Context, _ mtls.Identity, _ link.Have, send func(link.Order) error) error {
	for {
		select {
		case o := <-u.orders:
			if err := send(o); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (u *usurper) Report(_ context.Context, _ mtls.Identity, r link.Report) error {
	select {
	case u.reports <- r:
	default:
	}
	return nil
}

// newUsurper serves agents at the URL that it returns.
func newUsurper(t testing.TB, a *mtlstest.Authority) (u *usurper, url string) {
	t.Helper()
	creds, err := mtls.Open(a.Issue(mtls.Identity{Role: mtls.Controller, Name: "main"}), func(error) {})
	check(t, err)
	u = &usurper{orders: make(chan link.Order), reports: make(chan link.Report, 16)}
	mux := http.NewServeMux()
	mux.Handle(link.NewHandler(u))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	s := &http.Server{Handler: link.Authenticated(mux, creds, holders{}), TLSConfig: creds.Server(), ReadHeaderTimeout: patience}
	go func() { _ = s.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	return u, "https://" + l.Addr().String()
}

// order sends one and returns the agent's report on it.
func (u *usurper) order(t testing.TB, o link.Order) link.Report {
	t.Helper()
	select {
	case u.orders <- o:
	case <-time.After(patience):
		t.Fatal("no agent follows")
	}
	select {
	case r := <-u.reports:
		return r
	case <-time.After(patience):
		t.Fatal("no report")
	}
	return link.Report{}
}

// planned is a plan that the agent would take, but for edit.
func (e *edge) planned(edit func(*plan.Plan)) *plan.Plan {
	p := e.planFor(prefixOf(e.t, client(0, 7)))
	p.PoP, p.Serial = "chi", 10
	p.Entries[0].State = plan.StateUncontrolled // in every hour of the day
	edit(p)
	p.Sort()
	return p
}

func (e *edge) signed(edit func(*plan.Plan)) []byte { return e.planned(edit).Sign(testKey()) }

// hostilePlan is one that must be refused, with a word of why.
type hostilePlan struct {
	name string
	text []byte
	want string
}

func hostilePlans(t *testing.T, host *edge) []hostilePlan {
	signed, planned, mine := host.signed, host.planned, prefixOf(t, client(0, 7))
	_, stranger, err := ed25519.GenerateKey(nil)
	check(t, err)
	later := func(p *plan.Plan) { p.Serial = 20 }
	text := signed(later)
	entries := func(n int) func(*plan.Plan) {
		return func(p *plan.Plan) {
			p.Serial = 20
			for i := 1; i < n; i++ {
				p.Entries = append(p.Entries, plan.Entry{Prefix: prefixOf(t, client(i, 7)), Cong: "bbr", State: plan.StateAlways, Since: p.Created, Reason: "x"})
			}
		}
	}
	now := time.Now().Unix()
	return []hostilePlan{
		{"replayed: an older serial", signed(func(p *plan.Plan) { p.Serial = 9 }), "older than plan 10"},
		{"the same serial with other content", signed(func(p *plan.Plan) { p.Entries[0].Prefix = prefixOf(t, client(5, 7)) }), ""},
		{"a forged serial", bytes.Replace(text, []byte("serial 20"), []byte("serial 21"), 1), ""},
		{"a forged network", bytes.Replace(text, []byte(mine.String()), []byte(prefixOf(t, client(5, 7)).String()), 1), ""},
		{"unsigned", text[:bytes.LastIndexByte(bytes.TrimRight(text, "\n"), '\n')+1], ""},
		{"signed with another key", planned(later).Sign(stranger), "sign"},
		{"of another PoP", signed(func(p *plan.Plan) { p.PoP, p.Serial = "ams", 20 }), "pop"},
		{"a path for a PoP", signed(func(p *plan.Plan) { p.PoP, p.Serial = "../../etc", 20 }), "pop"},
		{"expired", signed(func(p *plan.Plan) { p.Serial, p.Created, p.Expires = 20, now-7200, now-3600 }), "expire"},
		{"of a controller ten minutes ahead", signed(func(p *plan.Plan) { p.Serial, p.Created, p.Expires = 20, now+600, now+4200 }), "both clocks"},
		{"for a year", signed(func(p *plan.Plan) { p.Serial, p.Expires = 20, now+365*86400 }), "expire"},
		{"with more networks than plan.max", signed(entries(5)), "3"},
		{"with a congestion control that this kernel lacks", signed(func(p *plan.Plan) { p.Serial, p.Entries[0].Cong = 20, "nosuch" }), "nosuch"},
		{"nothing, as long as a plan may be", bytes.Repeat([]byte{'x'}, plan.BytesFor(3)), ""},
		{"a terminal's escapes", []byte("congctl-plan \x1b[2J\x07\n"), ""},
		{"cut off", text[:len(text)/2], ""},
	}
}

// again sends an empty order until one is reported on: the first may go to the stream that is just ending.
func (u *usurper) again(t *testing.T) link.Report {
	t.Helper()
	for range 3 {
		u.orders <- link.Order{}
		select {
		case r := <-u.reports:
			return r
		case <-time.After(patience / 3):
		}
	}
	t.Fatal("no report")
	return link.Report{}
}

// tooLong sends what ends the stream before it is read: there is no report, the host says why, and follows again.
func (u *usurper) tooLong(t *testing.T, host *edge) cost {
	ended := host.costs()
	u.orders <- link.Order{Plan: bytes.Repeat([]byte{'x'}, plan.MaxFileBytes)}
	eventually(t, "why in its log", patience, func() bool { return strings.Contains(host.log.String(), "plan.max allows") })
	took := ended()
	took.bounded(t, "8 MiB of nothing", 1)
	if r := u.again(t); r.Plan != 10 || r.InForce != 1 {
		t.Errorf("after 8 MiB of nothing: %+v", r)
	}
	return took
}

// TestHostilePlans: a controller whose certificate is right sends plans that are not. Each is refused, told and logged,
// and the plan before it stays in force; and that ends by itself when nothing renews it.
func TestHostilePlans(t *testing.T) {
	a := mtlstest.New(t)
	u, url := newUsurper(t, a)
	cfg := quickSettings()
	cfg.Plan = "{max: 3, new_per_round: 3}"
	host, s := newEdge(t, cfg), newServer(t)
	host.as = "agent"
	own := a.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"})
	host.cfg.More = section(own, "1s", fmt.Sprintf("controller: %q, plan_keys: [%x]", url, []byte(testKey().Public().(ed25519.PublicKey))))
	host.writeConfig()
	host.start()
	good := host.planned(func(*plan.Plan) {})
	if r := u.order(t, link.Order{Plan: good.Sign(testKey())}); r.Refusal != "" || r.Plan != 10 || r.InForce != 1 || r.Hash != good.Hash() {
		t.Fatalf("the good plan: %+v", r)
	}
	s.visit(t, client(0, 7), "bbr")
	var table costTable
	for _, c := range hostilePlans(t, host) {
		lines := strings.Count(host.log.String(), "plan refused")
		ended := host.costs()
		r := u.order(t, link.Order{Plan: c.text})
		took := ended()
		took.bounded(t, c.name, 1)
		table.add(c.name, took)
		st, err := host.status()
		check(t, err)
		if r.Refusal == "" || !strings.Contains(strings.ToLower(r.Refusal), c.want) || st.Agent.Plan != 10 || st.Agent.InForce != 1 {
			t.Errorf("%s: reported %.300q, plan %d with %d networks is in force", c.name, r.Refusal, st.Agent.Plan, st.Agent.InForce)
		}
		if strings.Count(host.log.String(), "plan refused") != lines+1 {
			t.Errorf("%s: not in the log", c.name)
		}
	}
	table.add("8 MiB of nothing", u.tooLong(t, host))
	t.Logf("%d plans\n%s", len(table.rows), &table)
	if strings.ContainsAny(host.log.String(), "\x1b\x07") {
		t.Error("the log has a terminal's escapes")
	}
	s.visit(t, client(0, 7), "bbr")
	s.visit(t, client(5, 7), "cubic")

	short := host.signed(func(p *plan.Plan) { p.Serial, p.Expires = 30, time.Now().Unix()+8 })
	if r := u.order(t, link.Order{Plan: short}); r.Refusal != "" || r.Plan != 30 {
		t.Fatalf("a plan for eight seconds: %+v", r)
	}
	expires(t, s, 0)
	host.awaitStatus("nothing in force", func(s control.Status) bool { return s.Agent.InForce == 0 })
	host.stop()
}
