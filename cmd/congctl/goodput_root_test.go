package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/goodput/store/responses"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	nginxPort  = 8080
	nginxPort2 = 8082      // HTTP/2 without TLS
	nginxFile  = 1_000_000 // bytes, at 400 kB/s: two seconds, since nginx gives the first second's share at once
	nginxLimit = nginxFile / 2
)

// logFormat is what docs/format/access-log.md tells people to paste.
func logFormat(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(docsRoot, "docs/format/access-log.md"))
	check(t, err)
	m := regexp.MustCompile(`(?s)log_format congctl .*?;\n`).Find(src)
	if m == nil {
		t.Fatal("the page has no log_format")
	}
	return string(m)
}

// startNginx runs a real one beside the test's `up`, in the same network namespace.
func startNginx(t *testing.T, dir string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("needs nginx (tools/nginx.sh) and root; minimum kernel 5.15")
	}
	check(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, nginxFile), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "small"), []byte("hi\n"), 0o600))
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/nginx.pid; error_log %[1]s/nginx.err;
events {}
http {
  %[2]s
  access_log %[1]s/access.log congctl;
  client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5;
  limit_rate 400k;
  server { listen %[3]s:%[4]d; root %[1]s; }
  server { listen %[3]s:%[5]d http2; root %[1]s; }
}
`, dir, logFormat(t), netns.EdgeAddr4, nginxPort, nginxPort2)
	check(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600))
	cmd := exec.Command(path, "-c", filepath.Join(dir, "nginx.conf"), "-p", dir, "-e", filepath.Join(dir, "nginx.err"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "nginx listens", patience, func() bool {
		c, err := net.Dial("tcp", netip.AddrPortFrom(netns.EdgeAddr4, nginxPort).String())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// browser keeps one connection from an address.
func browser(from netip.Addr, http2 bool) *http.Client {
	tr := &http.Transport{MaxConnsPerHost: 1, Protocols: &http.Protocols{}, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}).DialContext(ctx, network, addr)
	}}
	tr.Protocols.SetHTTP1(!http2)
	tr.Protocols.SetUnencryptedHTTP2(http2)
	return &http.Client{Transport: tr}
}

// fetch returns the seconds that a download took.
func fetch(t *testing.T, c *http.Client, port int, file string) float64 {
	t.Helper()
	began := time.Now()
	r, err := c.Get(fmt.Sprintf("http://%s:%d/%s", netns.EdgeAddr4, port, file))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%s: %v", r.Status, err)
	}
	return time.Since(began).Seconds()
}

// TestGoodputOfNginx: a real server's log, in the format of the page, gives the goodput
// that its clients saw, in the arm of their networks.
func TestGoodputOfNginx(t *testing.T) {
	notShort(t, "three windows of 3 s and downloads of 2 s")
	cfg := quickSettings()
	e := newEdge(t, cfg)
	e.cfg.More = fmt.Sprintf("goodput: {access_logs: [%s/access.log]}", e.dir)
	e.writeConfig()
	n := e.networksIn(record.ArmTreatment, 1)[0]
	treated, other := client(n, 1), client(n+1, 1) // the other is in no plan
	e.keepPlan(e.planFor(prefixOf(t, treated)))
	startNginx(t, e.dir)
	e.start()

	var took [3]float64
	var wait sync.WaitGroup
	wait.Go(func() { // HTTP/1.1: three responses of one connection
		c := browser(treated, false)
		took[0] = fetch(t, c, nginxPort, "big")
		fetch(t, c, nginxPort, "small")
		took[1] = fetch(t, c, nginxPort, "big")
		c.CloseIdleConnections()
	})
	wait.Go(func() { // HTTP/2: two streams at a time are one burst
		c := browser(other, true)
		var streams sync.WaitGroup
		began := time.Now()
		for range 2 {
			streams.Go(func() { fetch(t, c, nginxPort2, "big") })
		}
		streams.Wait()
		took[2] = time.Since(began).Seconds()
		c.CloseIdleConnections()
	})
	wait.Wait()
	rows, tally := e.goodput(5)
	e.stop()

	if tally.Matched != 5 || tally.UnmatchedTotal() != 0 || tally.Bursts != 1 {
		t.Errorf("%+v", tally)
	}
	want := map[string]uint64{
		fmt.Sprintf("%s responses T", prefixOf(t, treated)): 2 * nginxFile, fmt.Sprintf("%s responses none", prefixOf(t, other)): 2 * nginxFile,
		fmt.Sprintf("%s small T", prefixOf(t, treated)): 3,
	}
	for name, bytes := range want {
		if got := rows[name]; got.Bytes != bytes {
			t.Fatalf("%s: %d bytes, want %d of %v", name, got.Bytes, bytes, rows)
		}
	}
	of := func(network netip.Addr, arm record.Arm) float64 {
		return float64(rows[fmt.Sprintf("%s responses %s", prefixOf(t, network), arm)].BytesPerS[0])
	}
	e.between("HTTP/1.1", of(treated, record.ArmTreatment), nginxFile/max(took[0], took[1]), nginxLimit)
	e.between("HTTP/2", of(other, record.ArmNone), 2*nginxFile/took[2], 2*nginxLimit)
}

// goodput waits for so many matched responses and joins the rows by network, kind and arm.
func (e *edge) goodput(matched uint64) (map[string]goodput.Row, accesslog.Tally) {
	e.t.Helper()
	rows, tally := map[string]goodput.Row{}, accesslog.Tally{}
	eventually(e.t, "responses are matched", patience, func() bool {
		clear(rows)
		tally = accesslog.Tally{}
		_, err := responses.Dir(filepath.Join(e.dir, "state", "goodput")).Read(0, math.MaxInt32, func(r *goodput.Row) {
			key := strings.Join([]string{r.Prefix.String(), r.Kind.String(), r.Arm.String()}, " ")
			sum := rows[key]
			sum.N, sum.Bytes, sum.BytesPerS = sum.N+r.N, sum.Bytes+r.Bytes, append(sum.BytesPerS, r.BytesPerS...)
			rows[key] = sum
		}, func(b *goodput.Batch) { tally.Add(b.Tally) })
		check(e.t, err)
		return tally.Matched+tally.UnmatchedTotal() >= matched
	})
	return rows, tally
}

// between: the log's clock begins after its client's and ends before it, so goodput is
// at least what the client saw; and the server's limit holds. Neither depends on how
// busy the machine is.
func (e *edge) between(what string, got, saw, limit float64) {
	e.t.Helper()
	if got < 0.99*saw || got > 1.05*limit {
		e.t.Errorf("%s: goodput %.0f bytes/s, its client saw %.0f, the limit is %.0f", what, got, saw, limit)
	}
	e.t.Logf("%s: goodput %.0f bytes/s, its client saw %.0f, the limit is %.0f", what, got, saw, limit)
}
