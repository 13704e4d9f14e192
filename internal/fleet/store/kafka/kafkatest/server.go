// Package kafkatest starts a real Kafka broker for a test.
//
// It is for tests alone, and no stand-in: it skips the test where there is no broker.
//
// Its trap: a broker that was killed looks through its log at the next start, which takes seconds.
package kafkatest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Server is one broker with a folder and ports of its own.
type Server struct {
	tb      testing.TB
	dir     string
	broker  string // its host:port
	process *exec.Cmd
	ended   chan struct{}
}

// startTime is how long a broker may take to listen; it takes three seconds on an idle machine.
const startTime = 90 * time.Second

// Start starts a broker on loopback that ends with the test. CONGCTL_KAFKA_CACHE is a folder that tools/kafka.sh
// filled; java must be on the PATH.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return StartAt(tb, "127.0.0.1")
}

// StartAt is Start at another address of this host, for clients in other namespaces.
func StartAt(tb testing.TB, host string) *Server {
	tb.Helper()
	return start(tb, fmt.Sprintf("%s:%d", host, freePort(tb)), "PLAINTEXT://")
}

// StartSecure is Start with TLS, by a PEM file of key and certificate, and with SCRAM-SHA-512 for one user.
func StartSecure(tb testing.TB, pem, user, password string) *Server {
	tb.Helper()
	own := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,SASL_SSL://", freePort(tb))
	return start(tb, fmt.Sprintf("127.0.0.1:%d", freePort(tb)), own, fmt.Sprintf(secure, pem), fmt.Sprintf("SCRAM-SHA-512=[name=%s,password=%s]", user, password))
}

// start takes the settings of a secure one and its user.
func start(tb testing.TB, broker, listeners string, more ...string) *Server {
	tb.Helper()
	if os.Getenv("CONGCTL_KAFKA_CACHE") == "" {
		tb.Skip("needs Kafka's broker: CONGCTL_KAFKA_CACHE names a folder that tools/kafka.sh has filled; any kernel")
	}
	s := &Server{tb: tb, dir: tb.TempDir(), broker: broker}
	text := fmt.Sprintf(properties, listeners+broker, freePort(tb), filepath.Join(s.dir, "log"))
	format := []string{"kafka.tools.StorageTool", "format", "-t", "Y29uZ2N0bC10ZXN0LTEyMw", "-c", s.settings()}
	if len(more) > 0 {
		text += more[0]
		format = append(format, "--add-scram", more[1])
	}
	if err := os.WriteFile(s.settings(), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	if out, err := java(format...).CombinedOutput(); err != nil {
		tb.Fatalf("format Kafka's storage: %v\n%s", err, out)
	}
	tb.Cleanup(s.Kill)
	s.Start()
	return s
}

const properties = `process.roles=broker,controller
node.id=1
listeners=%s,CONTROLLER://127.0.0.1:%d
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:%[2]d
log.dirs=%[3]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=4194304
`

const secure = `listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.ssl.keystore.type=PEM
listener.name.sasl_ssl.ssl.keystore.location=%s
`

// thrifty is for programs that live a minute: one compiler, which does not optimise, the collector without threads, and no look at
// what Kafka's own compiler has made.
var thrifty = []string{"-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"}

func java(args ...string) *exec.Cmd {
	jars := filepath.Join(os.Getenv("CONGCTL_KAFKA_CACHE"), "jars", "*")
	return exec.Command("java", slices.Concat(thrifty, []string{"-cp", jars}, args)...)
}

func (s *Server) settings() string { return filepath.Join(s.dir, "server.properties") }

// Broker is its host:port.
func (s *Server) Broker() string { return s.broker }

// PID is the broker's process.
func (s *Server) PID() int { return s.process.Process.Pid }

// Start starts it again after Kill, with the messages that it had.
func (s *Server) Start() {
	s.tb.Helper()
	s.process = java("kafka.Kafka", s.settings())
	out, err := os.OpenFile(filepath.Join(s.dir, "out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer out.Close()
	s.process.Stdout, s.process.Stderr = out, out
	if err := s.process.Start(); err != nil {
		s.tb.Fatal(err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(p *exec.Cmd) { defer close(ended); _ = p.Wait() }(s.process)
	for end := time.Now().Add(startTime); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", s.Broker())
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(out.Name())
			s.tb.Fatalf("Kafka does not listen: %v\n%s", err, text)
		}
	}
}

// Kill ends it with kill -9 and waits until it is gone.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	<-s.ended
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
