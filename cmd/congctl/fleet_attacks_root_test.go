package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// attacker is somebody who can reach a controller.
type attacker struct {
	*fleet
	t       *testing.T
	foreign *mtlstest.Authority
	window  int64 // seconds

	mu   sync.Mutex // guards from
	from []string   // the addresses that an attack came from
}

// cameFrom notes an attack's own address.
func (a *attacker) cameFrom(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from = append(a.from, c.LocalAddr().String())
}

// named reports whether a line of the log has one of the attack's addresses or its certificate's name.
func (a *attacker) named(line string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(line, eve.String()+" ") || slices.ContainsFunc(a.from, func(addr string) bool { return strings.Contains(line, addr) })
}

var eve = mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "eve"}

func (a *attacker) dialer(f mtls.Files) link.Dial {
	a.t.Helper()
	c, err := mtls.Open(f, func(error) {})
	check(a.t, err)
	return a.noting(c.Dial)
}

func (a *attacker) noting(dial link.Dial) link.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err == nil {
			a.cameFrom(c)
		}
		return c, err
	}
}

// push sends a frame with a certificate.
func (a *attacker) push(f mtls.Files, frame []byte) error {
	return link.NewClient([]string{a.url}, a.dialer(f), patience, plan.MaxFileBytes).Send(a.t.Context(), frame)
}

// frame is a batch that would be taken, but for edit.
func (a *attacker) frame(edit func(h *wire.Header, start *int64)) []byte {
	start := time.Now().Unix() / a.window * a.window
	h := wire.Header{PoP: "chi", Host: "eve", Boot: record.BootID{66}, Sequence: uint64(time.Now().UnixNano())}
	edit(&h, &start)
	return batchOf(a.t, h, start, 3)
}

func (a *attacker) good() []byte { return a.frame(func(*wire.Header, *int64) {}) }

// raw speaks HTTP/1.1 and returns the answer's first line, "" if there is none.
func (a *attacker) raw(f mtls.Files, send func(io.Writer) error) (string, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	check(a.t, err)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(a.url, "https://"), &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	a.cameFrom(conn)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := send(conn); err != nil {
		return "", nil // it was closed under us
	}
	b, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("still open: %w", err)
	}
	first, _, _ := strings.Cut(string(b), "\r\n")
	return first, nil
}

// post sends a body to the service as it is.
func (a *attacker) post(f mtls.Files, path, encoding string, body io.Reader) (int, error) {
	h := &http.Client{Transport: &http.Transport{DialTLSContext: a.dialer(f), ForceAttemptHTTP2: true}}
	defer h.CloseIdleConnections()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url+path, body)
	check(a.t, err)
	req.Header.Set("Content-Type", "application/proto")
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	res, err := h.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

// refusedBy turns a status into what an attack returns.
func refusedBy(code int, err error) error {
	if err == nil && code >= 400 {
		err = errors.New(http.StatusText(code))
	}
	return err
}

const pushPath = "/congctl.v1.Fleet/Push"

// fleetAttack must end with an error, and leave a line in the controller's log that has the reason and its address.
type fleetAttack struct {
	name  string
	do    func(a *attacker) error
	logs  string
	times int // that it is refused; 0: once
}

func certAttacks() (all []fleetAttack) {
	uri := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	issue := func(name, logs string, files func(a *attacker) mtls.Files) {
		all = append(all, fleetAttack{name: name, do: func(a *attacker) error { return a.push(files(a), a.good()) }, logs: logs})
	}
	edited := func(name, logs string, edit func(*x509.Certificate)) {
		issue(name, logs, func(a *attacker) mtls.Files { return a.authority.Issue(eve, edit) })
	}
	named := func(name string, u *url.URL) {
		issue(name, "Forbidden", func(a *attacker) mtls.Files { return a.authority.IssueURI(u) })
	}
	issue("certificate of another authority", "TLS handshake error", func(a *attacker) mtls.Files {
		f := a.foreign.Issue(eve)
		f.CA = a.authority.Issue(eve).CA
		return f
	})
	edited("expired certificate", "expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	edited("certificate that is not valid yet", "not yet valid", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	edited("certificate for servers", "incompatible key usage", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	edited("certificate without a name", "Forbidden", func(c *x509.Certificate) { c.URIs = nil })
	edited("certificate with two names", "Forbidden", func(c *x509.Certificate) { c.URIs = append(c.URIs, uri("congctl://operator/eve")) })
	edited("role in the common name alone", "Forbidden", func(c *x509.Certificate) { c.Subject.CommonName, c.URIs = "congctl://agent/chi/eve", nil })
	named("unknown role", uri("congctl://admin/chi/eve"))
	named("path in a PoP's name", uri("congctl://agent/..%2F..%2Fetc/eve"))
	named("PoP that is a folder", uri("congctl://agent/../eve"))
	named("terminal's escape in a host's name", uri("congctl://agent/chi/e%1B%5B2Jve"))
	named("line break in a host's name", uri("congctl://agent/chi/eve%0AWARN"))
	named("name of another scheme", uri("spiffe://agent/chi/eve"))
	for _, role := range []mtls.Role{mtls.Operator, mtls.Viewer, mtls.Controller} {
		issue(string(role)+" that sends records", "Forbidden", func(a *attacker) mtls.Files { return a.authority.Issue(mtls.Identity{Role: role, Name: "eve"}) })
	}
	issue("agent of a PoP that is not here", "Service Unavailable", func(a *attacker) mtls.Files {
		return a.authority.Issue(mtls.Identity{Role: mtls.Agent, PoP: "ams", Name: "eve"})
	})
	return append(all, fleetAttack{name: "no certificate", do: func(a *attacker) error {
		h := &http.Client{Transport: &http.Transport{DialTLSContext: a.noting((&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext)}}
		defer h.CloseIdleConnections()
		res, err := h.Post(a.url+pushPath, "application/json", strings.NewReader("{}"))
		if err == nil {
			res.Body.Close()
			err = refusedBy(res.StatusCode, nil)
		}
		return err
	}, logs: "Unauthorized"})
}

func batchAttacks() (all []fleetAttack) {
	add := func(name, logs string, frame func(a *attacker) []byte) {
		all = append(all, fleetAttack{name: name, do: func(a *attacker) error { return a.push(a.authority.Issue(eve), frame(a)) }, logs: logs})
	}
	edited := func(name, logs string, edit func(h *wire.Header, start *int64)) {
		add(name, logs, func(a *attacker) []byte { return a.frame(edit) })
	}
	edited("records of another host", "sent with the certificate of", func(h *wire.Header, _ *int64) { h.Host = "edge-1" })
	edited("records of another PoP", "sent with a certificate of", func(h *wire.Header, _ *int64) { h.PoP = "ams" })
	edited("path for a PoP in a batch", "sent with a certificate of", func(h *wire.Header, _ *int64) { h.PoP = "../../etc" })
	edited("batch without a sequence", "without a boot id and a sequence", func(h *wire.Header, _ *int64) { h.Sequence = 0 })
	edited("window of next year", "clock is ahead", func(_ *wire.Header, start *int64) { *start += 365 * 86400 })
	edited("window before 1970", "windows are", func(_ *wire.Header, start *int64) { *start = -600 })
	edited("window at another second", "windows are", func(_ *wire.Header, start *int64) { *start++ })
	add("garbage", "refused", func(*attacker) []byte { return bytes.Repeat([]byte{0xff}, 1000) })
	add("batch that is cut off", "no batch", func(a *attacker) []byte { b := a.good(); return b[:len(b)/2] })
	add("message of 3 MiB", "refused", func(*attacker) []byte { return make([]byte, 3<<20) })
	return all
}

func httpAttacks() (all []fleetAttack) {
	add := func(name, logs string, do func(a *attacker) error) {
		all = append(all, fleetAttack{name: name, do: do, logs: logs})
	}
	var zip, small bytes.Buffer
	w, _ := zstd.NewWriter(&small, zstd.WithWindowSize(1<<20)) // no more than the controller takes
	for encoding, packed := range map[string]io.WriteCloser{"zstd": w, "gzip": gzip.NewWriter(&zip)} {
		for range 1024 {
			_, _ = packed.Write(make([]byte, 1<<20))
		}
		_ = packed.Close()
		add("1 GiB of zeros in "+encoding, "refused", func(a *attacker) error {
			body := map[string]*bytes.Buffer{"zstd": &small, "gzip": &zip}[encoding]
			return refusedBy(a.post(a.authority.Issue(eve), pushPath, encoding, body))
		})
	}
	add("unknown encoding", "refused", func(a *attacker) error {
		return refusedBy(a.post(a.authority.Issue(eve), pushPath, "br", strings.NewReader("x")))
	})
	for _, path := range []string{"/pop/../../../etc/passwd", "/pop/..%2f..%2fetc/", "/pop/ams/events", "/debug/pprof/", "/"} {
		add("path "+path, "refused", func(a *attacker) error {
			return refusedBy(a.post(a.authority.Issue(mtls.Identity{Role: mtls.Operator, Name: "eve"}), path, "", strings.NewReader("{}")))
		})
	}
	add("viewer that stops treatment", "refused", func(a *attacker) error {
		return refusedBy(a.post(a.authority.Issue(mtls.Identity{Role: mtls.Viewer, Name: "eve"}), "/pop/chi/v1/stop", "", strings.NewReader("{}")))
	})
	add("agent that asks for events", "refused", func(a *attacker) error {
		return refusedBy(a.post(a.authority.Issue(eve), "/pop/chi/v1/events", "", strings.NewReader("{}")))
	})
	add("smuggled request behind a length and a chunk", "refused", func(a *attacker) error {
		return a.refusedRaw("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /pop/chi/v1/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	})
	add("two lengths", "is no request", func(a *attacker) error {
		return a.refusedRaw("POST " + pushPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nabcd")
	})
	add("header of 1 MiB", "header is longer than 16384 bytes", func(a *attacker) error {
		return a.refusedRaw("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")
	})
	add("HTTP/1.0 without TLS", "TLS handshake error", func(a *attacker) error {
		c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "https://"))
		check(a.t, err)
		defer c.Close()
		a.cameFrom(c)
		_, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		b, _ := io.ReadAll(c)
		return refusedLine(string(b))
	})
	return all
}

func (a *attacker) refusedRaw(text string) error {
	line, err := a.raw(a.authority.Issue(eve), func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		return err
	}
	return refusedLine(line)
}

// refusedLine is an error unless the answer is one that something was done; silence is a refusal.
func refusedLine(line string) error {
	if strings.Contains(line, " 2") {
		return nil
	}
	return errors.New("refused: " + line)
}

func floodAttacks() (all []fleetAttack) {
	add := func(name, logs string, do func(a *attacker) error) {
		all = append(all, fleetAttack{name: name, do: do, logs: logs})
	}
	add("requests that never end", "it has 16 under way", func(a *attacker) error {
		h := &http.Client{Transport: &http.Transport{DialTLSContext: a.dialer(a.authority.Issue(eve)), ForceAttemptHTTP2: true}}
		defer h.CloseIdleConnections()
		ctx, stop := context.WithCancel(a.t.Context())
		defer stop()
		codes := make(chan int, 40)
		for range 40 {
			go func() {
				body, w := io.Pipe()
				defer w.Close()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, a.url+pushPath, body)
				req.Header.Set("Content-Type", "application/proto")
				if res, err := h.Do(req); err == nil {
					codes <- res.StatusCode
					res.Body.Close()
				}
			}()
		}
		for range 24 {
			if code := <-codes; code < 400 {
				return nil
			}
		}
		return errors.New("24 of 40 refused")
	})
	all[0].times = 24
	all = append(all, fleetAttack{"600 connections of one address", crowdOfConnections, "connection from 127.0.0.2 refused", 600 - 512})
	add("a header that comes byte by byte", "no whole header came in 10s", func(a *attacker) error { return a.slowly("GET / HTTP/1.1\r\nHost: x\r\nX: ") })
	add("a body that comes byte by byte", "/Push\" refused: ", func(a *attacker) error {
		return a.slowly("POST " + pushPath + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 100000\r\n\r\n")
	})
	return all
}

// crowdOfConnections opens more than one address may have, and says nothing on them.
func crowdOfConnections(a *attacker) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: patience}
	a.from = []string{"127.0.0.2 refused"} // the line counts an address
	var conns []net.Conn
	for range 600 {
		c, err := d.Dial("tcp", strings.TrimPrefix(a.url, "https://"))
		check(a.t, err)
		defer c.Close()
		conns = append(conns, c)
	}
	closed := make(chan bool, len(conns))
	for _, c := range conns {
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second)) // less than a handshake may take
			_, err := c.Read(make([]byte, 1))
			closed <- !errors.Is(err, os.ErrDeadlineExceeded)
		}()
	}
	n := 0
	for range conns {
		if <-closed {
			n++
		}
	}
	if n != 600-512 {
		return nil
	}
	return fmt.Errorf("%d closed", n)
}

// slowly sends a byte a second until the other side ends the connection.
func (a *attacker) slowly(head string) error {
	line, err := a.raw(a.authority.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "slow"}), func(w io.Writer) error {
		_, err := io.WriteString(w, head)
		for range 45 {
			if err != nil {
				return err
			}
			time.Sleep(time.Second)
			_, err = io.WriteString(w, "x")
		}
		return err
	})
	if err != nil {
		return nil // it stayed open
	}
	return refusedLine(line)
}

// TestAttacks on a real controller, whose honest agent goes on: each is refused at a bounded cost and is in the log, nothing
// is stored, and no host is added.
func TestAttacks(t *testing.T) {
	cfg := quickSettings()
	cfg.Window, cfg.Expiry = "600s", "1800s" // this one closes 300 s after its end, and so not here
	f := newFleetOf(t, cfg, "")
	a := &attacker{fleet: f, t: t, foreign: mtlstest.New(t), window: 600}
	honest := f.puppet("edge-1")
	ann := f.operator(mtls.Operator)
	eventually(t, "the honest agent", patience, func() bool { st := ann.fleetStatus(); return len(st.Hosts) == 1 && st.Hosts[0].Connected })
	check(t, honest.c.Send(t.Context(), batchOf(t, wire.Header{PoP: "chi", Host: "edge-1", Boot: record.BootID{9}, Sequence: 1}, time.Now().Unix()/a.window*a.window, 3)))
	inbox := f.inboxBytes()
	var table costTable
	for _, list := range [][]fleetAttack{floodAttacks(), certAttacks(), batchAttacks(), httpAttacks()} {
		for _, at := range list {
			ended := f.costs()
			a.attack(at)
			took := ended()
			took.bounded(t, at.name, max(1, at.times))
			table.add(at.name, took)
			if at.times > 1 {
				time.Sleep(time.Second) // it took all lines of its second
			}
		}
	}
	t.Logf("%d attacks\n%s", len(table.rows), &table)
	st := ann.fleetStatus()
	if len(st.Hosts) != 1 || !st.Hosts[0].Connected || st.Stopped || st.Plan != 0 && len(honest.plans) == 0 {
		t.Errorf("after the attacks: %+v", st)
	}
	if n := f.inboxBytes(); n != inbox {
		t.Errorf("the inbox has %d bytes, %d before", n, inbox)
	}
	if strings.ContainsAny(f.log.String(), "\x1b\x07") {
		t.Error("the log has a terminal's escapes")
	}
	check(t, honest.c.Send(t.Context(), batchOf(t, wire.Header{PoP: "chi", Host: "edge-1", Boot: record.BootID{9}, Sequence: 2}, time.Now().Unix()/a.window*a.window, 3)))
	f.stop()
}

func (a *attacker) attack(at fleetAttack) {
	a.t.Helper()
	time.Sleep(250 * time.Millisecond) // the log has ten lines a second
	from := len(a.log.String())
	own := &attacker{fleet: a.fleet, t: a.t, foreign: a.foreign, window: a.window}
	if err := at.do(own); err == nil {
		a.t.Errorf("%s: it worked", at.name)
	}
	eventually(a.t, at.name+": a line in the log of "+strings.Join(own.from, ", ")+" with "+at.logs, patience, func() bool {
		for line := range strings.Lines(a.log.String()[from:]) {
			if at.logs != "" && strings.Contains(line, at.logs) && own.named(line) {
				return true
			}
		}
		return false
	})
}

// peakKB is the largest memory that the controller had.
func (f *fleet) peakKB() int { return statusKB(f.t, f.cmd.Process.Pid, "VmHWM") }

func (f *fleet) inboxBytes() (n int64) {
	files, err := os.ReadDir(f.dir + "/state/pops/chi/inbox")
	check(f.t, err)
	for _, e := range files {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// TestHostileWords: what an agent says of itself, and why it refuses, ends on terminals and in the store: bounded and
// without a terminal's escapes.
func TestHostileWords(t *testing.T) {
	cfg := quickSettings()
	cfg.Lists = alwaysOf(t, 0)
	f := newFleetOf(t, cfg, "")
	ann := f.operator(mtls.Operator)
	bad := "\x1b[2J\x1b]0;owned\x07\u202e\r\n" + strings.Repeat("A", 400<<10)
	p := f.puppet("edge-1")
	p.quiet(true)
	sequence := uint64(0)
	eventually(t, "a plan that waits", patience, func() bool {
		sequence++
		start := time.Now().Unix()/3*3 - 3
		h := wire.Header{PoP: "chi", Host: "edge-1", Boot: record.BootID{9}, Sequence: sequence, Ends: []wire.WindowEnd{{Start: start}}}
		check(t, p.c.Send(t.Context(), batchOf(t, h, start, 3)))
		return ann.fleetStatus().Next > 0
	})
	check(t, p.c.Report(t.Context(), link.Report{Boot: record.BootID{9}, Plan: ann.fleetStatus().Next, Hash: bad, Refusal: bad}))
	var events []journal.Event
	eventually(t, "an event of the refusal", patience, func() bool {
		ann.ask(&events, "events", "--pop", "chi")
		for _, e := range events {
			if strings.Contains(e.Text, "edge-1") && strings.Contains(e.Text, "AAAA") {
				return true
			}
		}
		return false
	})
	for _, text := range []string{ann.must("events", "--pop", "chi"), ann.must("fleet", "status", "--pop", "chi"), ann.must("status", "--pop", "chi"), f.log.String()} {
		if strings.ContainsAny(text, "\x1b\x07\u202e\r") || strings.Contains(text, strings.Repeat("A", 400)) {
			t.Errorf("%d bytes: %.300q", len(text), text)
		}
	}
	f.stop()
}
