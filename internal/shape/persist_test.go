package shaping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

var hosts = map[string]Boot{
	"networkd":               {NetworkFile: "/run/systemd/network/10-netplan-eth0.network", NetworkText: "[Match]\nName=eth0\n\n[Network]\nDHCP=yes\n", SystemdVersion: 255, Systemd: true},
	"networkd-old":           {NetworkFile: "/etc/systemd/network/eth0.network", NetworkText: "[Match]\nName=eth0\n", SystemdVersion: 237, Systemd: true},
	"networkd-for-many":      {NetworkFile: "/etc/systemd/network/all.network", NetworkText: "[Match]\nName=en* eth*\n", SystemdVersion: 252, Systemd: true},
	"networkmanager":         {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\nid=wired\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=auto\n", SystemdVersion: 252, Systemd: true},
	"networkmanager-with-tc": {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\ninterface-name=eth0\n[tc]\nqdisc.root=fq\n", Systemd: true},
	"networkmanager-again":   {Keyfile: "/etc/NetworkManager/system-connections/wired.nmconnection", KeyText: "[connection]\ninterface-name=eth0\n\n[tc]\nqdisc.root=handle c0c7: tbf rate 500 burst 1 limit 2\n", Systemd: true},
	"systemd":                {Systemd: true},
	"openrc":                 {OpenRC: true, Local: true},
	"openrc-without-local":   {OpenRC: true},
	"rc.local":               {RCLocal: "/etc/rc.local", RCText: "#!/bin/sh -e\n# by hand\ntouch /var/lock/x\nexit 0\n"},
	"rc.local-without-exit":  {RCLocal: "/etc/rc.d/rc.local", RCText: "#!/bin/sh\ntouch /var/lock/subsys/local\n"},
	"rc.local-again":         {RCLocal: "/etc/rc.local", RCText: "#!/bin/sh\n# congctl shape eth0\n/usr/bin/congctl shape set eth0 1Mbit/s --replace --at-boot\ntouch x\n"},
	"rc.local-odd-exit":      {RCLocal: "/etc/rc.local", RCText: "#!/bin/sh\ntouch x\nexit 0 # all is well\n\n# the end\n"},
	"rc.local-to-be":         {RCLocal: "/etc/rc.local"},
	"rc.local-idle":          {RCLocal: "/etc/rc.local", RCText: "#!/bin/sh\nexit 0\n", RCIdle: true},
	"debian-openrc":          {OpenRC: true, RCLocal: "/etc/rc.local", RCText: "#!/bin/sh\nexit 0\n"},
	"nothing":                {},
}

// Whoever keeps a limit by files that it has read already has to read them again.
func TestReread(t *testing.T) {
	for name, want := range map[string]string{
		"networkd":       "networkd goes by its files of before until it starts again, or: sudo networkctl reload",
		"networkmanager": "NetworkManager goes by its files of before until it starts again, or: sudo nmcli connection reload",
		"systemd":        "systemd goes by its files of before until it starts again, or: sudo systemctl daemon-reload",
		"openrc":         "",
		"rc.local":       "",
	} {
		target, err := For(ethernet, Ask{Rate: 8e6})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Persist(ethernet.Name, target, hosts[name], nil)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, f := range p.Files {
			paths = append(paths, f.Path)
		}
		if got := strings.Join(Reread(paths), "\n"); got != want {
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
