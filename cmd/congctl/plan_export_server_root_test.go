package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asked are addresses and what a server must find for each: the network's first and last, and those beside them.
var asked = map[string]string{
	"203.0.113.0": "bbr", "203.0.113.255": "bbr", "203.0.112.255": "", "203.0.114.0": "", "198.51.100.7": "",
	"2001:db8:0:ab00::": "bbr", "2001:db8:0:abff:ffff:ffff:ffff:ffff": "bbr", "2001:db8:0:aaff::1": "", "2001:db8:0:ac00::": "",
}

// TestExportInNginx lets a real nginx include the export as docs/verb/plan.md says, and asks it what it finds for an address.
func TestExportInNginx(t *testing.T) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("needs nginx (tools/nginx.sh); no minimum kernel")
	}
	dir := exported(t, "nginx-geo", "congctl.geo")
	conf := filepath.Join(dir, "nginx.conf")
	check(t, os.WriteFile(conf, fmt.Appendf(nil, `daemon off; master_process off; pid %[1]s/nginx.pid; error_log %[1]s/nginx.err;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5;
  geo $congctl_cong {
    default "";
    include %[1]s/congctl.geo;
  }
  set_real_ip_from unix:;
  real_ip_header proxy_protocol;
  server { listen unix:%[1]s/s proxy_protocol; location / { return 200 "found $congctl_cong."; } }
}
`, dir), 0o600))
	args := []string{"-c", conf, "-p", dir, "-e", filepath.Join(dir, "nginx.err")}
	if out, err := exec.Command(path, append(args, "-t")...).CombinedOutput(); err != nil || bytes.Contains(out, []byte("[warn]")) {
		t.Fatalf("nginx -t: %v: %s", err, out)
	}
	askServer(t, dir, exec.Command(path, args...))
}

// TestExportInHAProxy does the same with a map.
func TestExportInHAProxy(t *testing.T) {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("needs haproxy (tools/haproxy.sh); no minimum kernel")
	}
	dir := exported(t, "haproxy-map", "congctl.map")
	conf := filepath.Join(dir, "haproxy.cfg")
	check(t, os.WriteFile(conf, fmt.Appendf(nil, `defaults
  mode http
  timeout client 10s
frontend edge
  bind unix@%[1]s/s accept-proxy
  tcp-request content set-var(sess.congctl_cong) src,map_ip(%[1]s/congctl.map)
  http-request return status 200 content-type text/plain lf-string "found %%[var(sess.congctl_cong)]."
`, dir), 0o600))
	if out, err := exec.Command(path, "-c", "-f", conf).CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARNING")) {
		t.Fatalf("haproxy -c: %v: %s", err, out)
	}
	askServer(t, dir, exec.Command(path, "-db", "-f", conf))
}

// exported writes a plan's export to a file in a folder whose path a socket may have.
func exported(t *testing.T, form, name string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "x")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "plan.txt")
	check(t, os.WriteFile(file, exportPlan(t), 0o600))
	var out, errs bytes.Buffer
	if code := run([]string{"plan", "export", file, "--format", form, "--at", "2026-11-20T12:00:00Z"}, &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	check(t, os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600))
	return dir
}

// askServer starts a server on the socket s and asks it as a client of each address, which the PROXY protocol names.
func askServer(t *testing.T, dir string, server *exec.Cmd) {
	t.Helper()
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	socket := filepath.Join(dir, "s")
	eventually(t, "the server listens", patience, func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	for from, want := range asked {
		if got := foundFor(t, socket, netip.MustParseAddr(from)); got != want {
			t.Errorf("%s: found %q, want %q", from, got, want)
		}
	}
}

func foundFor(t *testing.T, socket string, from netip.Addr) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	check(t, err)
	defer c.Close()
	check(t, c.SetDeadline(time.Now().Add(patience)))
	family, to := "TCP4", "192.0.2.1"
	if from.Is6() {
		family, to = "TCP6", "2001:db8::1"
	}
	fmt.Fprintf(c, "PROXY %s %s %s 50000 443\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", family, from, to)
	body, err := io.ReadAll(c)
	_, found, ok := strings.Cut(string(body), "found ")
	found, _, dot := strings.Cut(found, ".")
	if err != nil || !ok || !dot {
		t.Fatalf("%s: %v: %s", from, err, body)
	}
	return found
}
