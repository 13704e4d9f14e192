package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestStrangersAtController: of 2,000 strangers, each with a body that never comes or a handshake that never does, all are
// gone by themselves, and while they hold what they may an agent that follows goes on, and a newcomer gets in.
func TestStrangersAtController(t *testing.T) {
	f := newFleetOf(t, quickSettings(), "")
	f.puppet("edge-1")
	ann := f.operator(mtls.Operator)
	eventually(t, "the agent", patience, func() bool { st := ann.fleetStatus(); return len(st.Hosts) == 1 && st.Hosts[0].Connected })
	before, open := f.peakKB(), f.descriptors()
	conns := make(chan net.Conn, 2000)
	for i := range cap(conns) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%4))}, Timeout: patience}
		c, err := d.Dial("tcp", strings.TrimPrefix(f.url, "https://"))
		check(t, err)
		defer c.Close()
		conns <- c
		if i%4 == 0 { // after a handshake: the others are silent
			over := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			go func() {
				_, _ = io.WriteString(over, "POST /congctl.v1.Fleet/Push HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
			}()
		}
	}
	if st := ann.fleetStatus(); len(st.Hosts) != 1 || !st.Hosts[0].Connected {
		t.Errorf("while strangers hold what they may: %+v", st)
	}
	most := f.descriptors()
	eventually(t, "no stranger is left", 3*patience, func() bool { return f.descriptors() <= open+4 })
	t.Logf("%d descriptors before, %d with 2000 strangers, %d after; peak memory %d kB, then %d kB", open, most, f.descriptors(), before, f.peakKB())
	if after := f.peakKB(); most > open+600 || after > before+64<<10 {
		t.Errorf("%d descriptors, then %d; peak memory %d kB, then %d kB", open, most, before, after)
	}
	if st := ann.fleetStatus(); len(st.Hosts) != 1 || !st.Hosts[0].Connected {
		t.Errorf("afterwards: %+v", st)
	}
	f.stop()
}

// descriptors are how many the controller has open.
func (f *fleet) descriptors() int {
	f.t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.cmd.Process.Pid))
	check(f.t, err)
	return len(all)
}

// caller asks over one HTTP/2 connection for as long as it lasts.
type caller struct {
	t *testing.T
	f *fleet
	h *http.Client
}

func (f *fleet) caller(t *testing.T, files mtls.Files) *caller {
	creds, err := mtls.Open(files, func(error) {})
	check(t, err)
	dialled := false
	return &caller{t, f, &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialled {
			return nil, errors.New("a second connection")
		}
		dialled = true
		return creds.Dial(ctx, network, address)
	}}}}
}

func (c *caller) post(path string) (int, string) {
	c.t.Helper()
	res, err := c.h.Post(c.f.url+path, "application/json", strings.NewReader("{}"))
	check(c.t, err)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

// ending is how the trust in a certificate ends.
type ending struct {
	name string
	edit func(*x509.Certificate)
	end  func()
	want string
}

// TestTrustEndsAtController: what a certificate was trusted for ends on its open connection and its streams, too, when it
// expires, its name or serial number is revoked by SIGHUP, or its authority is replaced; others are not touched by it.
func TestTrustEndsAtController(t *testing.T) {
	f := newFleetOf(t, quickSettings(), "")
	f.puppet("edge-1")
	ann := f.caller(t, f.authority.Issue(mtls.Identity{Role: mtls.Operator, Name: "ann"}))
	serial := ""
	note := func(c *x509.Certificate) { serial = mtls.Serial(c.SerialNumber) }
	for _, c := range []ending{
		{"bob", note, func() { f.revoke("congctl://operator/bob, congctl://agent/chi/bob") }, "its name is revoked"},
		{"eve", note, func() { f.revoke(serial) }, "is revoked"},
		{"kim", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(8 * time.Second) }, func() {}, "it expired at"},
		{"leo", note, func() { check(t, os.Rename(mtlstest.New(t).Issue(eve).CA, caOf(f))) }, "has not signed it"},
	} {
		who := f.caller(t, f.authority.Issue(mtls.Identity{Role: mtls.Operator, Name: c.name}, c.edit))
		if code, text := who.post("/pop/chi/v1/freeze"); code != http.StatusOK {
			t.Fatalf("%s, trusted: %d %s", c.name, code, text)
		}
		stream := f.follows(t, c.name, c.edit) // its serial is the one that is noted last
		eventually(t, c.name+" follows", patience, func() bool { return ann.connected() == 2 })
		c.end()
		select {
		case err := <-stream:
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the stream: %v", c.name, err)
			}
		case <-time.After(patience):
			t.Errorf("%s: the stream goes on", c.name)
		}
		if c.name == "eve" { // the list has the stream's serial number alone
			continue
		}
		if code, text := who.post("/pop/chi/v1/unfreeze"); code != http.StatusUnauthorized || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", c.name, code, text)
		}
		if c.name != "leo" && ann.connected() != 1 {
			t.Errorf("%s: another's stream has ended", c.name)
		}
	}
	f.stop()
}

// follows follows with a certificate and returns why it ended.
func (f *fleet) follows(t *testing.T, name string, edit func(*x509.Certificate)) <-chan error {
	creds, err := mtls.Open(f.authority.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: name}, edit), func(error) {})
	check(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- link.NewClient([]string{f.url}, creds.Dial, patience, plan.MaxFileBytes).Follow(t.Context(), link.Have{Boot: record.BootID{8}}, func(link.Order) {})
	}()
	return ended
}

// connected is how many agents are.
func (c *caller) connected() int {
	_, text := c.post("/pop/chi/v1/fleet")
	return strings.Count(text, `"connected":true`)
}

// revoke has the controller reload another fleet.revoked.
func (f *fleet) revoke(list string) {
	base, _, _ := strings.Cut(f.cfg.More, ", revoked:")
	f.cfg.More = strings.TrimSuffix(base, "}") + ", revoked: [" + list + "]}"
	f.writeConfig()
	had := strings.Count(f.log.String(), "reload: by SIGHUP")
	f.signal(syscall.SIGHUP)
	eventually(f.t, "a reload", patience, func() bool { return strings.Count(f.log.String(), "reload: by SIGHUP") > had })
}

// caOf is the authority's file of a controller.
func caOf(f *fleet) string {
	_, after, _ := strings.Cut(f.cfg.More, "ca: ")
	path, _, _ := strings.Cut(after, ",")
	return filepath.Clean(path)
}

// TestRefusalsAtController: a flood of refusals, of one certificate or many, at one PoP or without a token at the
// dashboard, has ten lines a second, none long, and few events.
func TestRefusalsAtController(t *testing.T) {
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	ann := f.operator(mtls.Operator)
	from, began := len(f.log.String()), time.Now()
	var codes [6]int
	bob, kim := f.caller(t, f.authority.Issue(mtls.Identity{Role: mtls.Viewer, Name: "bob"})), f.caller(t, f.authority.Issue(eve))
	for range 300 {
		codes[0], _ = bob.post("/pop/chi/v1/stop")
		codes[1], _ = kim.post("/pop/chi/v1/stop")
		codes[2], _ = bob.post("/" + strings.Repeat("%01%F0%9F%92%A3", 300))
		codes[3] = pageAct(t, cfg.Metrics, "stop", "")
		codes[4] = pageAct(t, cfg.Metrics, "resume", "congctl_wrong")
	}
	_ = kim.push(t, f)
	took := time.Since(began).Seconds()
	lines := strings.Split(strings.TrimSpace(f.log.String()[from:]), "\n")
	longest := 0
	for _, l := range lines {
		longest = max(longest, len(l)+1)
	}
	t.Logf("1500 refusals in %.1f s: %d lines, the longest of %d bytes", took, len(lines), longest)
	if want := [6]int{403, 403, 404, 403, 401}; codes != want {
		t.Errorf("%d, want %d", codes, want)
	}
	if most := 12*int(took+2) + 5; len(lines) > most || longest > 500 {
		t.Errorf("%d lines, at most %d; the longest has %d bytes", len(lines), most, longest)
	}
	var events []journal.Event
	ann.ask(&events, "events", "--pop", "chi", "--kind", "audit")
	if len(events) > 12 {
		t.Errorf("%d events", len(events))
	}
	f.must("token", "add", "board", "--role", "viewer")
	eventually(t, "an event of a token", patience, func() bool {
		return strings.Contains(ann.must("events", "--pop", "chi"), "token add board, viewer of all PoPs")
	})
	ann.audited("stop by congctl://viewer/bob: refused", "stop by congctl://agent/chi/eve: refused")
	f.stop()
}

// pageAct asks a dashboard to act.
func pageAct(t *testing.T, address, action, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/api/pop/chi/v1/"+action, strings.NewReader("{}"))
	check(t, err)
	if token != "" {
		r.Header.Set(tokenHeader, token)
	}
	res, err := http.DefaultClient.Do(r)
	check(t, err)
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// push sends a batch that is refused.
func (c *caller) push(t *testing.T, f *fleet) error {
	creds, err := mtls.Open(f.authority.Issue(eve), func(error) {})
	check(t, err)
	start := time.Now().Unix()/3*3 + 365*86400
	return link.NewClient([]string{f.url}, creds.Dial, patience, plan.MaxFileBytes).Send(t.Context(), batchOf(t, wire.Header{PoP: "chi", Host: "eve", Boot: record.BootID{66}, Sequence: 1}, start, 3))
}
