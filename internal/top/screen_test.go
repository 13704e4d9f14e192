package top

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var rewrite = flag.Bool("rewrite", false, "write the screens into testdata")

var noon = time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)

func prefix(s string) record.Prefix {
	p, err := record.ParsePrefix(s)
	if err != nil {
		panic(err)
	}
	return p
}

// edge is a small imagined edge.
func edge() (State, []Network, []Conn) {
	s := State{PoP: "ams1", Running: true, Plan: 9, Ranked: 6, Needed: 20, Default: "cubic"}
	network := func(p string, state policy.State, mbit, duty float64, treatment string, arm record.Arm, gain float64, class policy.Class) Network {
		n := Network{Treatment: treatment, Arm: arm}
		n.Prefix, n.State, n.PerfBytesPerS, n.Duty, n.Rate, n.Signature = prefix(p), state, mbit*1e6/8, duty, gain, class
		n.Conns, n.Known, n.MinRTTUs, n.RetransShare = int(3*mbit), 32, 31_200, duty/50
		if n.TreatedBytesPerS = gain * n.PerfBytesPerS; arm != record.ArmNone {
			n.ArmUntil = noon.Unix() + 1200
		}
		return n
	}
	networks := []Network{
		network("203.0.113.0/24", policy.StatePromoted, 2.06, 1, "bbr", record.ArmTreatment, 2.61, "single"),
		network("2001:db8:0:ab00::/56", policy.StateTrial, 2.48, 1, "bbr", record.ArmControl, 0, "single"),
		network("198.18.11.0/24", policy.StateTrial, 3.49, 0.58, "bbr", record.ArmTreatment, 1.07, "policer"),
		network("192.0.2.0/24", policy.StateExcluded, 2.62, 1, "", record.ArmNone, 0, "queue"),
		network("198.18.35.0/24", policy.StateUntreated, 33.27, 0, "", record.ArmNone, 0, "clean"),
		network("198.18.9.0/24", policy.StateUntreated, 0, 0, "", record.ArmNone, 0, ""),
	}
	networks[3].Guard = "low-rtt"
	return s, networks, edgeConns(0)
}

// edgeConns are the connections of a dump; each dump has more bytes.
func edgeConns(dump uint64) (conns []Conn) {
	for i, remote := range []string{"203.0.113.7:51234", "[2001:db8:0:ab00:21e:c2ff:fe1f:7]:40112", "198.18.11.4:3301", "198.18.35.9:60001", "198.51.100.250:65535"} {
		a := netip.MustParseAddrPort(remote)
		c := Conn{Netns: "own", Cookie: uint64(i + 1), Local: netip.MustParseAddrPort("192.0.2.10:443"), Remote: a, State: "ESTABLISHED", Cong: []string{"bbr", "cubic", "cubic", "cubic", "reno"}[i],
			RttUs: uint32(31_000 * (i + 1)), MinRttUs: 29_000, Cwnd: uint32(10 * (i + 1)), Delivery: uint64(260_000 * (i + 1)), Acked: 4_000_000 + dump*uint64(i)*500_000, Sent: 4_100_000, Retrans: uint64(i) * 12_000}
		c.Network, _ = record.PrefixOf(a.Addr())
		conns = append(conns, c)
	}
	return conns
}

func full(width, height int) *Model {
	m := New(Options{Host: true, Every: 2 * time.Second})
	m.Resize(width, height)
	s, networks, conns := edge()
	m.Dumped(noon.Add(-2*time.Second), conns)
	m.Dumped(noon, edgeConns(1))
	m.Answered(noon, s, networks)
	return m
}

func press(m *Model, keys ...string) *Model {
	for _, k := range keys {
		m.Key(k)
	}
	return m
}

// screens are those that a person should look at after each change.
var screens = map[string]func(width, height int) *Model{
	"networks":    full,
	"connections": func(w, h int) *Model { return press(full(w, h), "tab") },
	"filtered":    func(w, h int) *Model { return press(full(w, h), "/", "t", "r", "i", "a", "l", "space", "b", "b", "r") },
	"sorted":      func(w, h int) *Model { return press(full(w, h), ">", ">", ">", "r", "down", "down") },
	"help":        func(w, h int) *Model { return press(full(w, h), "?") },
	"detail": func(w, h int) *Model {
		m := press(full(w, h), "down", "enter")
		m.Explained(m.Detail(), "2001:db8:0:ab00::/56: trial\n  In the plan since 2026-11-20 11:00:00Z: its control connections were in the slowest fifth in 31 of 31 known windows.\n\nHistory\n  known windows  31 (a decision needs 12)\n")
		return m
	},
	"nothing-runs": func(w, h int) *Model {
		m := New(Options{Host: true, Every: 2 * time.Second})
		m.Resize(w, h)
		m.Failed(noon, Trouble{Text: "connect to /run/congctl.sock: no congctl is running here", Hint: "sudo congctl up", Down: true})
		return m
	},
	"no-answer": func(w, h int) *Model {
		m := full(w, h)
		m.Failed(noon.Add(42*time.Second), Trouble{Text: "congctl (pid 4100) did not answer within 2s; the process is stopped"})
		return m
	},
	"stopped": func(w, h int) *Model {
		m := full(w, h)
		s, networks, _ := edge()
		s.Stopped = true
		m.Answered(noon, s, networks)
		return m
	},
	"fleet": func(w, h int) *Model {
		m := New(Options{Every: 2 * time.Second})
		m.Resize(w, h)
		s, networks, _ := edge()
		s.Alarms = []string{"host edge-7: not connected", "host edge-9: not connected"}
		m.Answered(noon, s, networks)
		return m
	},
}

func TestScreens(t *testing.T) {
	for name, make := range screens {
		for _, size := range [][2]int{{80, 24}, {200, 60}} {
			path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
			got := drawn(make(size[0], size[1]))
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != got {
				t.Errorf("%s: another screen (%v); -rewrite writes it:\n%s", path, err, got)
			}
		}
	}
}

// drawn is a screen with the mark of each line's style in front.
func drawn(m *Model) string {
	var b strings.Builder
	for _, l := range m.View() {
		b.WriteString(strings.TrimRight(string(" TH>!f"[l.Style])+"|"+l.Text, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
