package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/proof"
)

// ProofJob asks a machine that is all ours to make a congestion control its default, and
// then to run cells.
type ProofJob struct {
	Job
	Enable string `json:"enable"`
}

// RunProof reports a line of JSON with proof.Enabled, then what RunJob reports. Where the
// congestion control could not be enabled no cell is run.
func RunProof(job []byte, progress func(string)) ([]byte, error) {
	var j ProofJob
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	e := proof.Enabled{Release: release()}
	if err := enable(j.Enable, &e); err != nil {
		e.Error = err.Error()
	}
	var report bytes.Buffer
	if err := json.NewEncoder(&report).Encode(&e); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	if e.Conn != j.Enable {
		return report.Bytes(), nil
	}
	runs, err := RunJob(job, progress)
	if err != nil {
		return nil, err
	}
	report.Write(runs)
	return report.Bytes(), nil
}

const (
	availableSysctl = "net.ipv4.tcp_available_congestion_control"
	defaultSysctl   = "net.ipv4.tcp_congestion_control"
)

// enable makes cong the default of the machine, asks a connection over the loopback what
// it runs, and puts the default back.
func enable(cong string, e *proof.Enabled) (err error) {
	if e.Available, err = readSysctl(availableSysctl); err != nil {
		return err
	}
	if e.Before, err = readSysctl(defaultSysctl); err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(e.Available), cong) {
		return nil // the report says so
	}
	if err := writeSysctl(defaultSysctl, cong); err != nil {
		return err
	}
	defer func() {
		if back := writeSysctl(defaultSysctl, e.Before); err == nil {
			err = back
		}
	}()
	if e.Default, err = readSysctl(defaultSysctl); err != nil {
		return err
	}
	e.Conn, e.Internals, err = askConnection()
	return err
}

func readSysctl(key string) (string, error) {
	b, err := os.ReadFile(procSys(key))
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func writeSysctl(key, value string) error {
	if err := os.WriteFile(procSys(key), []byte(value), 0); err != nil {
		return fmt.Errorf("set sysctl %s=%s: %w", key, value, err)
	}
	return nil
}

// askConnection connects over the loopback without choosing a congestion control, and
// reads what the kernel gave it.
func askConnection() (cong string, internals bool, err error) {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return "", false, fmt.Errorf("set up loopback: %w", err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", false, fmt.Errorf("open connection: %w", err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return "", false, fmt.Errorf("open connection: %w", err)
	}
	defer c.Close()
	d, err := openDiag()
	if err != nil {
		return "", false, err
	}
	defer d.close()
	s, err := d.get(addrPort(c.LocalAddr()), addrPort(c.RemoteAddr()))
	if err != nil {
		return "", false, err
	}
	return s.Cong.String(), s.Has&inetdiag.HasBBR != 0, nil
}

func addrPort(a net.Addr) netip.AddrPort {
	p := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}
