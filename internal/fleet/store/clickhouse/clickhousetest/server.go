// Package clickhousetest starts a real ClickHouse server for a test.
//
// It is for tests alone, and no stand-in: it skips the test where there is no server.
//
// Its trap: a server that was killed holds its lock file until it is gone, so Start waits for
// the process's end first.
package clickhousetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Server is one server with a folder and ports of its own, on loopback.
type Server struct {
	tb        testing.TB
	dir       string
	tcp, http int
	process   *exec.Cmd
	ended     chan struct{}
}

// startTime is how long a server may take to answer; it takes a tenth of a second.
const startTime = 30 * time.Second

// Start starts a server that ends with the test. CONGCTL_CLICKHOUSE_CACHE is a folder that
// tools/clickhouse.sh filled.
func Start(tb testing.TB) *Server {
	tb.Helper()
	if program() == "" {
		tb.Skip("needs ClickHouse's server: CONGCTL_CLICKHOUSE_CACHE names a folder that tools/clickhouse.sh has filled; any kernel")
	}
	s := &Server{tb: tb, dir: tb.TempDir(), tcp: freePort(tb), http: freePort(tb)}
	s.write("config.xml", fmt.Sprintf(config, s.http, s.tcp, s.dir))
	s.write("users.xml", users)
	tb.Cleanup(s.Kill)
	s.Start()
	return s
}

func program() string {
	dir := os.Getenv("CONGCTL_CLICKHOUSE_CACHE")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "clickhouse-server")
}

// Compression as on any server that keeps more than a day; clickhouse-go ignores the version's
// own default otherwise.
const config = `<yandex>
<logger><level>warning</level><console>1</console></logger>
<http_port>%d</http_port><tcp_port>%d</tcp_port><listen_host>127.0.0.1</listen_host>
<path>%[3]s/data/</path><tmp_path>%[3]s/tmp/</tmp_path><users_config>%[3]s/users.xml</users_config>
<mark_cache_size>100000000</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>zstd</method></case></compression>
</yandex>
`

const users = `<yandex><profiles><default></default></profiles><quotas><default/></quotas>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
`

func (s *Server) write(name, text string) {
	s.tb.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.tb.Fatal(err)
	}
}

// Address is its URL, for clickhouse.Open.
func (s *Server) Address() string { return fmt.Sprintf("clickhouse://127.0.0.1:%d/congctl", s.tcp) }

// Start starts it again after Kill, with the data that it had.
func (s *Server) Start() {
	s.tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer log.Close()
	s.process = exec.Command(program(), "--config-file", filepath.Join(s.dir, "config.xml"))
	s.process.Stdout, s.process.Stderr, s.process.Dir = log, log, s.dir
	if err := s.process.Start(); err != nil {
		s.tb.Fatal(err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(p *exec.Cmd) { defer close(ended); _ = p.Wait() }(s.process)
	for end := time.Now().Add(startTime); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.tcp))
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(log.Name())
			s.tb.Fatalf("ClickHouse does not listen: %v\n%s", err, text)
		}
	}
}

// Kill ends it as a power cut does, and waits until it is gone.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// PID is the server's process.
func (s *Server) PID() int { return s.process.Process.Pid }

// CPU is what the server has used of processors so far. On a machine with other work it says more than
// a clock.
func (s *Server) CPU() time.Duration {
	s.tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte(") "))
	var user, kernel int64
	if _, err := fmt.Sscanf(string(bytes.Join(bytes.Fields(rest)[11:13], []byte(" "))), "%d %d", &user, &kernel); err != nil {
		s.tb.Fatal(err)
	}
	return time.Duration(user+kernel) * time.Second / 100 // in hundredths, on every architecture of Linux that has Go
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
