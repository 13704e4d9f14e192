package popworld

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/process"
)

// Product is the process that runs beside the server, as its operator would start it.
type Product struct {
	Args    []string `json:"args"`              // after the program's name
	Config  string   `json:"config"`            // text of the file at ConfigPath
	Store   string   `json:"store"`             // file that is handed back
	Records string   `json:"records,omitempty"` // what the names of the records files begin with, which are handed back; "": none
}

// Places of the product in its own machine. The configuration must name them.
const (
	ConfigPath = "/etc/congctl.yml"
	StateDir   = "/run/congctl/state"
	Socket     = "/run/congctl/congctl.sock"
	logPath    = "/run/congctl/log"
)

const (
	readyWithin = 60 * time.Second
	endWithin   = 30 * time.Second
)

// product is that process, or the place where it was.
type product struct {
	Product
	ns    *netns.NS
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd ended
	// Cost of all its lives.
	cpu   time.Duration
	lives int
	// emptied is the store that was removed last.
	emptied []byte
}

func (p *product) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// start starts it and waits until it answers.
func (p *product) start() error {
	if p.running() {
		return errors.New("start congctl: it is already running")
	}
	p.reap()
	if err := errors.Join(os.MkdirAll(StateDir, 0o700), os.MkdirAll(filepath.Dir(ConfigPath), 0o755),
		os.WriteFile(ConfigPath, []byte(p.Config), 0o600)); err != nil {
		return fmt.Errorf("start congctl: %w", err)
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start congctl: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", p.Args...)
	cmd.Env = append(os.Environ(), process.KeepPages+"=1")
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.ns.Start(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	p.lives++
	go func() { _ = cmd.Wait(); close(ended) }() // how it ended is in its state
	return p.answers()
}

func (p *product) answers() error {
	for end := time.Now().Add(readyWithin); time.Now().Before(end) && p.running(); time.Sleep(100 * time.Millisecond) {
		conn, err := net.Dial("unix", Socket)
		if err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("start congctl: its socket does not answer; its log ends:\n%s", p.tail())
}

// end signals it and waits. A product that does not exist has ended.
func (p *product) end(sig syscall.Signal) error {
	if !p.running() {
		p.reap()
		return nil
	}
	_ = p.cmd.Process.Signal(sig) // it may have ended
	_ = p.cmd.Process.Signal(unix.SIGCONT)
	select {
	case <-p.ended:
		p.reap()
		return nil
	case <-time.After(endWithin):
		return fmt.Errorf("end congctl: still running after %s", endWithin)
	}
}

// signal is for one that goes on.
func (p *product) signal(sig syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("signal congctl: %s: it is not running", unix.SignalName(sig))
	}
	return p.cmd.Process.Signal(sig)
}

// records returns its records files, one behind the other: in the order of its starts, of which the names have the times.
func (p *product) records() (all []byte, err error) {
	if p.Records == "" {
		return nil, nil
	}
	names, err := filepath.Glob(p.Records + "-*.pb") // sorted
	for _, name := range names {
		b, rerr := os.ReadFile(name)
		all, err = append(all, b...), errors.Join(err, rerr)
	}
	return all, err
}

// reap adds what an ended life cost.
func (p *product) reap() {
	if p.cmd != nil {
		p.cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
		p.cmd = nil
	}
}

func (p *product) empty() error {
	if err := p.end(unix.SIGTERM); err != nil {
		return err
	}
	var err error
	if p.emptied, err = os.ReadFile(p.Store); err == nil {
		err = os.RemoveAll(StateDir)
	}
	if err != nil {
		return fmt.Errorf("empty store: %w", err)
	}
	return p.start()
}

// logTail is the length of a day's log in bytes, at two lines per round.
const logTail = 256 << 10

func (p *product) tail() []byte { return logEnd(logTail) }
