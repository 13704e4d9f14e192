package shape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/congctl/congctl/internal/change"
)

var hosts = map[string]Boot{
	"networkd":               {NetworkFile: "/run/systemd/network/10-netplan-eth0.network", NetworkText: "[Match]\nName=eth0\n\n[Network]\nDHCP=yes\n", SystemdVersion: tbfSince, Init: "systemd"},
	"networkd-old":           {NetworkFile: "/etc/systemd/network/eth0.network", NetworkText: "[Match]\nName=eth0\n", SystemdVersion: tbfSince - 1, Init: "systemd"},
	"networkd-for-many":      {NetworkFile: "/etc/systemd/network/all.network", NetworkText: "[Match]\nName=en* eth*\n", SystemdVersion: tbfSince, Init: "systemd"},
	"networkmanager":         {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\nid=wired\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=auto\n", SystemdVersion: 252, Init: "systemd"},
	"networkmanager-with-tc": {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\ninterface-name=eth0\n[tc]\nqdisc.root=fq\n", Init: "systemd"},
	"networkmanager-again":   {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\ninterface-name=eth0\n\n[tc]\nqdisc.root=handle c0c7: tbf rate 500 burst 1 limit 2\n", Init: "systemd"},
	"systemd":                {Init: "systemd"},
	"networkmanager-openrc":  {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\ninterface-name=eth0\n", Init: "openrc"},
	"container":              {Init: "none"},
}

// Whoever keeps a limit by files that it has read already has to read them again.
func TestReread(t *testing.T) {
	for name, want := range map[string]string{
		"networkd":       "networkd uses its old files until it restarts; to reread them now: sudo networkctl reload",
		"networkmanager": "NetworkManager uses its old files until it restarts; to reread them now: sudo nmcli connection reload",
		"systemd":        "systemd uses its old files until it restarts; to reread them now: sudo systemctl daemon-reload",
	} {
		target, err := For(ethernet, Ask{Rate: 8e6})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Persist(ethernet.Name, target, hosts[name], nil)
		if err != nil {
			t.Fatal(err)
		}
		var steps []change.Step
		for _, f := range p.Files {
			steps = append(steps, change.Step{Kind: change.File, Target: f.Path})
		}
		if got := strings.Join(Reread(steps), "\n"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Each kind of host keeps the limit in files that a person can check.
func TestPersist(t *testing.T) {
	datadriven.RunTest(t, "testdata/persist", func(t *testing.T, d *datadriven.TestData) string {
		link := "eth0"
		ask := Ask{Rate: 8e6, Burst: 200 << 10, Queue: Queue{Bytes: 1 << 20}}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "inner":
				ask.Inner = a.Vals[0]
			case "link":
				link = a.Vals[0]
			}
		}
		b, ok := hosts[strings.TrimSpace(d.Input)]
		if !ok {
			t.Fatalf("no host %q", d.Input)
		}
		l := ethernet
		l.Name = link
		target, err := For(l, ask)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Persist(link, target, b, Command("/usr/bin/congctl", link, target))
		if err != nil {
			return err.Error() + "\n"
		}
		var out strings.Builder
		fmt.Fprintln(&out, "kept by", p.Keeper)
		for _, n := range p.Notes {
			fmt.Fprintln(&out, "note:", n)
		}
		for _, f := range p.Files {
			fmt.Fprintf(&out, "--- %s (%o)\n%s", f.Path, f.Mode, f.Text)
		}
		return strings.ReplaceAll(out.String(), "\n\n", "\n.\n")
	})
}

// A file is the link's own only if its section names that link, and nothing else, every time.
func TestOnlyFor(t *testing.T) {
	for text, want := range map[string]bool{
		"[Match]\nName=eth0\n":                      true,
		"  [Match] \n\t Name = eth0 \n":             true,
		"[Match]\nOriginalName=x\nName=eth0":        true,
		"[Match]\nName=eth0\nName=eth0\n":           true,
		"[Link]\nName=eth1\n[Match]\nName=eth0\n":   true,
		"[Match]\nName=eth0\n[Link]\nName=eth1\n":   true,
		"[Match]\nName\n;Name=eth1\nName=eth0\n":    true,
		"":                                          false,
		"Name=eth0\n":                               false,
		"[Match]\n":                                 false,
		"[Match]\nName\n":                           false,
		"[Match]\nOriginalName=eth0\n":              false,
		"[Match]\nName=eth1\n":                      false,
		"[Match]\nName=eth0 eth1\n":                 false,
		"[Match]\nName=eth0\nName=eth1\n":           false,
		"[Match]\nName=eth1\nName=eth0\n":           false,
		"[Link]\nName=eth0\n":                       false,
		"[Match]\nMAC=x\n[Link]\nName=eth0\n":       false,
		"[Match]\n[Link]\nName=eth0\n":              false,
		"[Matched]\nName=eth0\n":                    false,
		"[Match]\nName=eth0\n[Match]\nName=eth1\n":  false,
		"[Match]\nName=eth0=x\n":                    false,
		"[Link]\n[Match]\nName=eth0\n[Network]\n\n": true,
	} {
		if got := onlyFor(text, "Match", "Name", "eth0"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// The name of a unit is that of systemd-escape, whose words these are: each byte that is
// neither a letter, a digit, ":", "_" nor a "." behind the first place.
func TestEscape(t *testing.T) {
	for name, want := range map[string]string{
		"azAZ09:_":  "azAZ09:_",
		"eth0.100":  "eth0.100",
		".eth":      `\x2eeth`,
		"..":        `\x2e.`,
		"br-lan":    `br\x2dlan`,
		"wg%i@if0":  `wg\x25i\x40if0`,
		"`{@[;^,":   `\x60\x7b\x40\x5b\x3b\x5e\x2c`,
		"\x01\x7fé": `\x01\x7f\xc3\xa9`,
		"":          "",
	} {
		if got := escape(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	unit, wants := units("br-.0")
	if unit != `/etc/systemd/system/congctl-shape-br\x2d.0.service` ||
		wants != `/etc/systemd/system/sys-subsystem-net-devices-br\x2d.0.device.d/congctl-shape.conf` {
		t.Errorf("got %s and %s", unit, wants)
	}
}
