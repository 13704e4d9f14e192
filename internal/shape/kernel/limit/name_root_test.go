package limit

import (
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/shape"
)

// A link is limited and cleared whatever it is called: by an altname, after it was renamed, by its old name.
func TestOtherNamesOfALink(t *testing.T) {
	long := strings.Repeat("n", maxAltName)
	for _, c := range []struct{ name, between, clear, own string }{
		{"an altname", "ip link property add dev a altname enp9s0", "enp9s0", "a"},
		{"an altname of 22 characters", "ip link property add dev a altname enx0123456789abcdefgh0", "enx0123456789abcdefgh0", "a"},
		{"the longest altname", "ip link property add dev a altname " + long, long, "a"},
		{"a new name", "ip link set dev a down\nip link set dev a name wan0\nip link set dev wan0 up", "wan0", "wan0"},
		{"the old name", "ip link set dev a down\nip link set dev a name wan0\nip link set dev wan0 up", "a", "wan0"},
		{"the old name, now an altname", "ip link set dev a down\nip link set dev a name wan0\nip link property add dev wan0 altname a", "a", "wan0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			mustShell(t, p.a, "tc qdisc replace dev a root handle 7: pfifo limit 7")
			before := get(t, p.a, change.Egress)
			h, r := onSystemd(t), ask(8e6)
			r.Ask.Replace, r.Persist = true, true
			setOrSkip(t, p, h, r)
			mustShell(t, p.a, c.between)
			in(t, p.a, func() error {
				name, err := h.Resolve(c.clear)
				if err != nil || name != c.own {
					t.Errorf("%s is %q, %v", c.clear, name, err)
				}
				v, err := h.View(name)
				if err != nil || !v.Ours || v.Interface != c.own || len(v.Warnings) > 0 {
					t.Errorf("shows %+v, %v", v, err)
				}
				report, err := h.Clear(name, false, time.Now())
				if err != nil || len(report.Refused)+len(report.Left) > 0 {
					t.Errorf("%+v, %v", report, err)
				}
				now, err := Places[change.Egress].Read(c.own)
				if now.Text != before {
					t.Errorf("before %q, after %q", before, now.Text)
				}
				return err
			})
		})
	}
}

// Another link with the name, or with the index, of one that is gone is not that link.
func TestAnotherLinkIsLeftAlone(t *testing.T) {
	const theirs = "tc qdisc replace dev LINK root handle c0c7: tbf rate 8mbit burst 3028 limit 103028"
	for _, c := range []struct{ name, script, link string }{
		{"the same name", "ip link del dev a\nip link add name a index 900 type ifb\nip link set dev a up", "a"},
		{"the same index", "ip link del dev a\nip link add name x index INDEX type ifb\nip link set dev x up", "x"},
		{"its name taken by a rename", "ip link set dev a down\nip link set dev a name wan0\nip link add name a type ifb\nip link set dev a up", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			mustShell(t, p.a, "tc qdisc replace dev a root handle 7: pfifo limit 7")
			h, r := newTestHost(t), ask(8e6)
			r.Ask.Replace = true
			setOrSkip(t, p, h, r)
			var index string
			in(t, p.a, func() error { l, err := Read("a"); index = ifbName(l.Index)[len("ifb-cc"):]; return err })
			mustShell(t, p.a, strings.ReplaceAll(c.script, "INDEX", index)+"\n"+strings.ReplaceAll(theirs, "LINK", c.link))
			in(t, p.a, func() error {
				report, err := h.Clear(c.link, true, time.Now()) // by force, which writes old values
				if err != nil {
					t.Error(err)
				}
				now, err := Places[change.Egress].Read(c.link)
				if strings.Contains(now.Text, "pfifo ffffffff 70000") {
					t.Errorf("got the qdisc of another link: %q, %+v", now.Text, report)
				}
				return err
			})
		})
	}
}

// What waits on a renamed link is confirmed by its new name, and reverted there.
func TestWaitsOnARenamedLink(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		p, h := newPair(t), newTestHost(t)
		id := ""
		guard := h.Guarded(Pending{Link: "a", Then: ask(8e6)}, time.Minute, func(got string) error { id = got; return nil })
		in(t, p.a, func() error { _, err := h.Set(ask(8e6), "test", time.Now(), guard); return err })
		mustShell(t, p.a, "ip link set dev a down\nip link set dev a name wan0\nip link add name a type ifb\nip link set dev wan0 up")
		in(t, p.a, func() error {
			if confirmed {
				if _, _, err := h.Confirm("wan0", time.Now()); err != nil {
					t.Error(err)
				}
			}
			if err := h.RevertUnless("a", id, 0); err != nil {
				t.Error(err)
			}
			now, err := Places[change.Egress].Read("wan0")
			if shape.IsLimit(now.Text) != confirmed {
				t.Errorf("confirmed %t: is %q", confirmed, now.Text)
			}
			return err
		})
	}
}

// Two namespaces with a link "a" each share a directory of journals and nothing else.
func TestNamespacesApart(t *testing.T) {
	one, two := newPair(t), newPair(t)
	h := newTestHost(t)
	id, err := guardedSet(t, one, h, h.disk)
	if err != nil {
		t.Fatal(err)
	}
	if waits, err := waitsIn(two, h); waits != nil || err != nil {
		t.Errorf("waits in the other one: %+v, %v", waits, err)
	}
	in(t, one.a, func() error { h.take("a"); return nil })
	setOrSkip(t, two, h, ask(16e6))
	mustClear(t, two, h)
	if got := settings(t, one)[change.Egress]; !shape.IsLimit(got) {
		t.Errorf("cleared in both: %q", got)
	}
	if open, err := openIn(one, h); err != nil || len(open) != 1 || open[0].ID != id {
		t.Errorf("the journals of the first: %+v, %v", open, err)
	}
	mustClear(t, one, h)
	for _, p := range []pair{one, two} {
		if open, err := openIn(p, h); err != nil || len(open) > 0 || shape.IsLimit(settings(t, p)[change.Egress]) {
			t.Errorf("left: %+v, %v", open, err)
		}
	}
}

// The session's packets leave through the links below its own: what is shaped there asks.
func TestSessionOverATunnel(t *testing.T) {
	const session = "203.0.113.7 51000 198.51.100.1 22"
	for _, c := range []struct {
		name, script string
		on           string // also on a
		not          string
	}{
		{"a bridge", "ip link add name s type bridge\nip link set dev a master s", "", "o"},
		{"a macvlan", "ip link add name s link a type macvlan", "", "o"},
		{"a VXLAN with a remote", "ip link add name s type vxlan id 7 remote 192.0.2.2 dstport 4789", "", "o"},
		{"a VXLAN on a link", "ip link add name s type vxlan id 7 group 239.1.1.1 dev a dstport 4789", "", "o"},
		{"a VXLAN whose remotes a program knows", "ip link add name s type vxlan id 7 dstport 4789", "o", ""},
		{"a VXLAN over a macvlan", "ip link add name m link a type macvlan\nip link set dev m up\nip addr flush dev a\nip addr add 192.0.2.1/24 dev m\nip link add name s type vxlan id 7 remote 192.0.2.2 dstport 4789", "m", "o"},
		{"a tun", "ip tuntap add dev s mode tun", "o", ""},
		{"a VLAN", "ip link add name s link a type vlan id 7", "", "o"},
		{"a bond", "ip link add name s type bond\nip link set dev a down\nip link set dev a master s", "", "o"},
		{"a GRE tunnel", "ip link add name s type gre remote 192.0.2.2 local 192.0.2.1", "", "o"},
		{"a WireGuard", "ip link add name s type wireguard", "o", ""},
		{"two cards", "ip link add name s type ifb\nip addr add 10.9.0.1/24 dev o\nip route add 203.0.113.0/24 nexthop via 10.9.0.2 nexthop via 192.0.2.2", "o", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			mustShell(t, p.a, "ip link add name o type ifb\nip link set dev o up\nip link property add dev a altname enp9s0")
			out := c.script + "\nip link set dev s up\nip addr add 198.51.100.1/24 dev s"
			if !shell(t, p.a, out) {
				t.Skipf("needs more of the kernel for %q; minimum kernel 5.3", c.script)
			}
			t.Setenv("SSH_CONNECTION", session)
			in(t, p.a, func() error {
				for link, want := range map[string]bool{"a": true, "enp9s0": true, c.on: true, c.not: false} {
					if link == "" {
						continue
					}
					if got, err := CarriesSession(link); got != want || err != nil {
						t.Errorf("%s: %t, %v", link, got, err)
					}
				}
				return nil
			})
		})
	}
}
