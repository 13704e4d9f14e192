package bbr

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
	"github.com/congctl/congctl/internal/linux/loopback"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// mixed is a host on paper with the real links of a network namespace.
type mixed struct {
	inspect.Host
	real inspect.Network
}

func (m mixed) facts() advise.Facts {
	m.Host.Network = m.real
	return m.Host.Read()
}

// settings stand for the host-wide sysctls and modules: a test must not touch the real.
type settings map[string]string

func (s settings) Read(target string) (change.Value, error) {
	if v, ok := s[target]; ok {
		return change.Text(v), nil
	}
	return change.Absent, nil
}

func (s settings) Write(target string, v change.Value) error {
	if delete(s, target); v.Present {
		s[target] = v.Text
	}
	return nil
}

const paper = `a Debian on which nothing is set
-- /etc/os-release --
ID=debian
-- /proc/sys/kernel/osrelease --
6.1.0-18-amd64
-- /lib/modules/6.1.0-18-amd64/modules.builtin --
kernel/net/ipv4/tcp_bbr.ko
kernel/net/sched/sch_fq.ko
-- /boot/config-6.1.0-18-amd64 --
CONFIG_TCP_CONG_BBR=y
CONFIG_NET_SCH_FQ=y
CONFIG_DEFAULT_TCP_CONG="cubic"
-- /run/systemd/system/basic --
-- /usr/lib/systemd/systemd-sysctl --
-- sysctl --
net.ipv4.tcp_available_congestion_control = reno cubic bbr
net.ipv4.tcp_allowed_congestion_control = reno cubic bbr
net.ipv4.tcp_congestion_control = cubic
net.core.default_qdisc = pfifo_fast
`

// TestInNamespace enables and disables with real links, queues and files; settings are
// those of paper. Where this kernel has no fq, the failure must take all back.
func TestInNamespace(t *testing.T) { withNamespace(t, inNamespace) }

// withNamespace runs fn in a network namespace, with an empty root for files.
func withNamespace(t *testing.T, fn func(t *testing.T, root string) error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a namespace; minimum kernel 5.3")
	}
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.Do(func() error { return fn(t, t.TempDir()) }); err != nil {
		t.Error(err)
	}
}

func inNamespace(t *testing.T, root string) error {
	if err := errors.Join(links(), os.MkdirAll(root+"/etc/sysctl.d", 0o755)); err != nil {
		return err
	}
	live := settings{advise.KeyCong: "cubic", advise.KeyQdisc: "pfifo_fast"}
	h, err := onPaper(root, live)
	if err != nil {
		return err
	}
	before := picture(root, live)
	r, err := h.Enable("host enable bbr", time.Unix(1_795_000_000, 0))
	if errors.Is(err, qdisc.ErrUnknown) {
		if !errors.Is(err, carry.ErrUndone) || picture(root, live) != before {
			t.Errorf("no fq here: %v; the host is\n%s\nwant\n%s", err, picture(root, live), before)
		}
		return nil
	}
	if err != nil {
		return err
	}
	got := picture(root, live)
	for _, want := range []string{"one: fq ", "many: mq ", "shaped: tbf ", advise.KeyCong + "=bbr", advise.KeyCong + " = bbr"} {
		if !strings.Contains(got, want) {
			t.Errorf("after enable no %q in\n%s", want, got)
		}
	}
	if len(r.Notes) == 0 || r.Notes[0].About != "shaped" {
		t.Errorf("notes %v: the shaped link is not named", r.Notes)
	}
	rep, err := h.Disable(false)
	if err != nil || len(rep.Refused)+len(rep.Left) > 0 {
		t.Errorf("disable: %+v, %v", rep, err)
	}
	if got := picture(root, live); got != before {
		t.Errorf("after disable the host is\n%s\nwant\n%s", got, before)
	}
	return nil
}

func onPaper(root string, live settings) (*Host, error) {
	p, err := paperhosttest.Parse(paper)
	if err != nil {
		return nil, err
	}
	m := mixed{p, inspect.Local().Network}
	facts := func() advise.Facts {
		f := m.facts()
		f.Cong.Current.Value = live[advise.KeyCong]
		f.Sysctl[advise.KeyQdisc] = advise.Know(live[advise.KeyQdisc])
		return f
	}
	e := carry.New(carry.Options{Disk: carry.HostDisk{Root: root}, Boot: "b", Places: map[change.Kind]carry.Place{
		change.Sysctl: live, change.Module: live, change.Qdisc: carry.Qdiscs{}}})
	prove := func() ([]loopback.Proof, error) {
		return []loopback.Proof{{Addr: "127.0.0.1", Cong: live[advise.KeyCong]}}, nil
	}
	return &Host{Facts: facts, Engine: e, Connect: prove, Lock: root + carry.DefaultDir, Machine: "m", Boot: "b"}, nil
}

// links makes a link with one queue, one with three, and one with somebody's shaper.
func links() error {
	c, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	for name, queues := range map[string]int{"one": 1, "many": 3, "shaped": 1} {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = name, queues, queues
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: name + "-peer"})
		l, e := netlink.LinkByName(name)
		if err = errors.Join(err, e); err != nil {
			return err
		}
		s := map[string]qdisc.Spec{"one": qdisc.PfifoFast{}, "many": qdisc.Raw{Name: "mq"}, "shaped": qdisc.Tbf{RateBytesPerS: 1e6, BurstBytes: 204800, LimitBytes: 1 << 20}}[name]
		at := qdisc.At{Link: l.Attrs().Index, Parent: qdisc.Root, Handle: qdisc.Handle(1)}
		if err := errors.Join(netlink.LinkSetUp(l), c.Replace(at, s)); err != nil {
			return err
		}
		for i := range uint32(queues) {
			if name != "many" {
				break
			}
			if err := c.Replace(qdisc.At{Link: l.Attrs().Index, Parent: qdisc.Handle(1) | (i + 1)}, qdisc.Raw{Name: "pfifo", Options: []byte{byte(100 + i), 0, 0, 0}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// picture is all that may change: settings, trees without handles, files.
func picture(root string, live settings) string {
	var b strings.Builder
	for _, k := range []string{advise.KeyCong, advise.KeyQdisc} {
		fmt.Fprintf(&b, "%s=%s\n", k, live[k])
	}
	for _, l := range []string{"one", "many", "shaped"} {
		v, err := carry.Qdiscs{}.Read(l)
		nodes, err2 := change.ParseTree(v.Text)
		fmt.Fprintf(&b, "%s:", l)
		for _, n := range nodes {
			fmt.Fprintf(&b, " %s %x;", n.Kind, n.Options)
		}
		fmt.Fprintln(&b, errors.Join(err, err2))
	}
	for _, dir := range []string{"/etc", "/etc/sysctl.d", "/etc/modules-load.d"} {
		entries, _ := os.ReadDir(root + dir)
		for _, e := range entries {
			text, _ := os.ReadFile(root + dir + "/" + e.Name())
			fmt.Fprintf(&b, "%s/%s %q\n", dir, e.Name(), text)
		}
	}
	return b.String()
}
