package enforce

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

const large, small = 2_000_000, 60_000

func TestArms(t *testing.T) {
	r := newRig(t)
	r.standard()
	for _, c := range []struct {
		name    string
		from    netip.Addr
		cong    string
		arm     record.Arm
		applied record.Applied
	}{
		{"treatment", clientT, "bbr", record.ArmTreatment, record.AppliedTreatment},
		{"control", clientC, "cubic", record.ArmControl, record.AppliedControl},
		{"not planned", clientOff, "cubic", record.ArmNone, record.AppliedNone},
	} {
		for i := range 20 {
			got := r.fetch4(c.from, large)
			if got.cong != c.cong {
				t.Errorf("%s, transfer %d: %s, want %s", c.name, i, got.cong, c.cong)
			}
			rec := r.next()
			// The client's end has been taken for a response: the record's own is the default again.
			to := map[bool]string{true: c.cong}[c.arm == record.ArmTreatment]
			if rec.Mark.Assigned != c.arm || rec.Mark.Applied != c.applied || rec.Mark.Cong.String() != to {
				t.Errorf("%s, transfer %d: record says %s/%s, switched to %q", c.name, i, rec.Mark.Assigned, rec.Mark.Applied, rec.Mark.Cong)
			}
			if rec.Cookie != got.cookie || rec.Netns != uint64(r.ns) {
				t.Errorf("%s: cookie %d in namespace %d by eBPF, %d in %d by the socket", c.name, rec.Cookie, rec.Netns, got.cookie, r.ns)
			}
			if rec.BytesAcked < large || rec.Mark.Crossings != 1 {
				t.Errorf("%s: %d bytes acknowledged, %d crossings", c.name, rec.BytesAcked, rec.Mark.Crossings)
			}
		}
	}
}

func TestSmallResponsesStay(t *testing.T) {
	r := newRig(t)
	r.standard()
	for i := range 200 {
		if got := r.fetch4(clientT, 30_000+i*300); got.cong != "cubic" {
			t.Fatalf("response of %d bytes switched", 30_000+i*300)
		}
	}
	if s, err := r.Stats(); err != nil || s.Switched != 0 {
		t.Errorf("%d switched, %v", s.Switched, err)
	}
}

func TestKeepAliveStaysUntilALargeResponse(t *testing.T) {
	r := newRig(t)
	r.standard()
	many := make([]int, 40)
	for i := range many {
		many[i] = small
	}
	if got := r.fetch4(clientT, many...); got.cong != "cubic" {
		t.Errorf("40 responses of 60 kB on one connection: %s", got.cong)
	}
	rec := r.next()
	if rec.Mark.Crossings != 0 {
		t.Errorf("40 responses of 60 kB: %d crossings: %+v", rec.Mark.Crossings, rec)
	}
	if got := r.fetch4(clientT, append(many[:5], large)...); got.cong != "bbr" {
		t.Errorf("a large response after five small ones: %s", got.cong)
	}
	rec = r.next()
	if into := large - rec.Mark.Counted(rec.Mark.CountedAcked, rec.BytesAcked); into < 100_000 || into > 400_000 {
		t.Errorf("switched %d bytes into the large response", into)
	}
}

func TestKillSwitchAndStarvation(t *testing.T) {
	r := newRig(t)
	r.standard()
	for _, c := range []struct {
		bit  uint32
		want record.Applied
	}{{abi.StopKilled, record.AppliedNoneKilled}, {abi.StopStarved, record.AppliedNoneStarved}} {
		r.Stop(c.bit, true)
		if got := r.fetch4(clientT, large); got.cong != "cubic" {
			t.Errorf("stop bit %d: %s", c.bit, got.cong)
		}
		if rec := r.next(); rec.Mark.Applied != c.want || rec.Mark.Assigned != record.ArmTreatment {
			t.Errorf("stop bit %d: %s/%s", c.bit, rec.Mark.Assigned, rec.Mark.Applied)
		}
		r.Stop(c.bit, false)
		if got := r.fetch4(clientT, large); got.cong != "bbr" {
			t.Errorf("after stop bit %d was cleared: %s", c.bit, got.cong)
		}
		r.next()
	}
}

func TestExpiryAndBlocks(t *testing.T) {
	r := newRig(t)
	p, _ := record.PrefixOf(clientT)
	now := bootNs()
	put := func(v abi.Policy) {
		t.Helper()
		if _, err := r.Set(plan.Program{Plan: 9, MinBytes: 100_000, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		change  func(*abi.Policy)
		cong    string
		arm     record.Arm
		applied record.Applied
	}{
		{"expired", func(v *abi.Policy) { v.ExpiresNs = now }, "cubic", record.ArmTreatment, record.AppliedNoneExpired},
		{"next block is control", func(v *abi.Policy) { v.SwitchNs, v.ArmNext = now, record.ArmControl }, "cubic", record.ArmControl, record.AppliedControl},
		{"next block is treatment", func(v *abi.Policy) { v.SwitchNs, v.ArmNow = now, record.ArmControl }, "bbr", record.ArmTreatment, record.AppliedTreatment},
		{"past both blocks", func(v *abi.Policy) { v.SwitchNs, v.UntilNs = now, now }, "cubic", record.ArmUnknown, record.AppliedNoneExpired},
		{"hold-out", func(v *abi.Policy) { v.ArmNow = record.ArmHoldout }, "cubic", record.ArmHoldout, record.AppliedNone},
	} {
		v := policyFor(record.ArmTreatment)
		c.change(&v)
		put(v)
		got := r.fetch4(clientT, large)
		rec := r.next()
		if got.cong != c.cong || rec.Mark.Assigned != c.arm || rec.Mark.Applied != c.applied {
			t.Errorf("%s: %s, %s/%s", c.name, got.cong, rec.Mark.Assigned, rec.Mark.Applied)
		}
	}
}

func TestFamilies(t *testing.T) {
	r := newRig(t)
	r.standard()
	six := listen(t, "tcp6", net.JoinHostPort(edge6.String(), "0"))
	if got := fetch(t, clientT6, "tcp6", six.Addr().String(), six, large); got.cong != "bbr" {
		t.Errorf("IPv6 /56: %s", got.cong)
	}
	rec := r.next()
	if a := netip.AddrFrom16(rec.Remote); a != clientT6 {
		t.Errorf("remote %s, want %s", a, clientT6)
	}
	// One listener for both families: IPv4 arrives as ::ffff:a.b.c.d.
	dual := listen(t, "tcp", "[::]:0")
	_, port, _ := net.SplitHostPort(dual.Addr().String())
	if got := fetch(t, clientT, "tcp4", net.JoinHostPort(edge4.String(), port), dual, large); got.cong != "bbr" {
		t.Errorf("IPv4-mapped: %s", got.cong)
	}
	rec = r.next()
	if a := netip.AddrFrom16(rec.Remote); a.Unmap() != clientT || netip.AddrFrom16(rec.Local).Unmap() != edge4 {
		t.Errorf("remote %s local %s, want %s and %s", a, netip.AddrFrom16(rec.Local), clientT, edge4)
	}
}

func TestApplicationsOwnChoiceIsLeftAlone(t *testing.T) {
	r := newRig(t)
	r.standard()
	ln := listen(t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	raw, err := ln.(*net.TCPListener).SyscallConn()
	check(t, err)
	check(t, raw.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}))
	check(t, err)
	if got := fetch(t, clientT, "tcp4", ln.Addr().String(), ln, large); got.cong != "reno" {
		t.Errorf("application chose reno, connection ran %s", got.cong)
	}
	if rec := r.next(); rec.Mark.Applied != record.AppliedNoneApp {
		t.Errorf("applied %s", rec.Mark.Applied)
	}
}

func TestDenyList(t *testing.T) {
	r := newRig(t)
	r.standard()
	check(t, r.SetDeny([]netip.Prefix{netip.MustParsePrefix("203.0.113.8/29"), netip.MustParsePrefix("2001:db8:1::/48")}))
	if got := r.fetch4(clientT, large); got.cong != "cubic" {
		t.Errorf("denied address: %s", got.cong)
	}
	if rec := r.next(); rec.Mark.Applied != record.AppliedNoneDenied {
		t.Errorf("applied %s", rec.Mark.Applied)
	}
	check(t, r.SetDeny(nil))
	if got := r.fetch4(clientT, large); got.cong != "bbr" {
		t.Errorf("after the deny list was emptied: %s", got.cong)
	}
}

func TestUnpolledNamespaceIsNeverTreated(t *testing.T) {
	r := newRig(t)
	r.standard()
	if _, err := r.SetNetns(map[record.NetnsID]inetdiag.Cong{}); err != nil {
		t.Fatal(err)
	}
	if got := r.fetch4(clientT, large); got.cong != "cubic" {
		t.Errorf("unpolled namespace: %s", got.cong)
	}
	s, err := r.Stats()
	if err != nil || s.Unpolled != 1 || s.Passive != 0 {
		t.Errorf("stats %+v, %v", s, err)
	}
}

func TestSetIsWholeOrNothing(t *testing.T) {
	r := newRig(t)
	r.standard()
	prog := plan.Program{Plan: 8, MinBytes: 100_000}
	for i := range 2000 { // more than the map holds
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 1}))
		prog.Entries = append(prog.Entries, plan.ProgramEntry{Prefix: p, Policy: policyFor(record.ArmTreatment)})
	}
	if n, err := r.Set(prog); err == nil {
		t.Fatalf("2,000 prefixes in a map of 1,024: %d, %v", n, err)
	}
	if got := r.fetch4(clientT, large); got.cong != "bbr" {
		t.Errorf("after a refused plan the old one does not hold: %s", got.cong)
	}
	if n, err := r.Set(plan.Program{Plan: 10, MinBytes: 100_000}); err != nil || n != 0 {
		t.Errorf("empty plan: %d, %v", n, err)
	}
	if got := r.fetch4(clientT, large); got.cong != "cubic" {
		t.Errorf("after an empty plan: %s", got.cong)
	}
}

func TestEvict(t *testing.T) {
	r := newRig(t)
	r.standard()
	ln := listen(t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	out := serve(t, ln, []int{large})
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientT.AsSlice()}}
	c, err := d.Dial("tcp4", ln.Addr().String())
	check(t, err)
	_, err = c.Write([]byte{1})
	check(t, err)
	buf := make([]byte, 64<<10)
	for n := 0; n < large; {
		m, err := c.Read(buf)
		check(t, err)
		n += m
	}
	sw, err := r.Sweep(abi.SweepRequest{Evict: true, DefaultCong: inetdiag.CongOf("cubic")})
	if err != nil || sw.Evicted != 1 || sw.EvictFailed != 0 {
		t.Fatalf("sweep %+v, %v", sw, err)
	}
	c.Close()
	if got := <-out; got.cong != "cubic" {
		t.Errorf("evicted connection runs %s", got.cong)
	}
	if rec := r.next(); rec.Mark.Flags&abi.MarkEvicted == 0 {
		t.Errorf("flags %b", rec.Mark.Flags)
	}
}

func TestProbeOnThisKernel(t *testing.T) {
	needRoot(t)
	p, err := ProbeKernel("bbr", os.Getenv(cgroupEnv))
	check(t, err)
	code, err := features.LinuxVersionCode()
	check(t, err)
	want := TierFull
	if code < v6_12 {
		want = TierGood
	}
	if t.Logf("%+v", p); p.Tier != want {
		t.Fatalf("tier %s, want %s; minimum kernel 5.15", p.Tier, want)
	}
	if p, err := ProbeKernel("nosuch", ""); err != nil || p.Tier != TierObserve {
		t.Errorf("unknown congestion control: %+v, %v", p, err)
	}
	start := time.Now()
	if _, err := ProbeKernel("bbr", "/proc"); err != nil {
		t.Logf("probe with a wrong cgroup after %s: %v", time.Since(start), err)
	}
	if _, err := Open(Options{Cgroup: "/proc"}); err == nil {
		t.Error("a cgroup path outside cgroup2 was accepted")
	}
}

// TestAllNetworks: an entry of all treats what has none, unless its address may not be treated; one of its own decides alone.
func TestAllNetworks(t *testing.T) {
	r := newRig(t)
	p, _ := record.PrefixOf(clientC)
	set := func(arm record.Arm) {
		_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, Entries: []plan.ProgramEntry{{Prefix: record.All, Policy: policyFor(arm)}, {Prefix: p, Policy: policyFor(record.ArmControl)}}})
		check(t, err)
	}
	fetch := func(what string, from netip.Addr, cong string, arm record.Arm) {
		t.Helper()
		got, rec := r.fetch4(from, large), r.next()
		if got.cong != cong || rec.Mark.Assigned != arm {
			t.Errorf("%s: %s, arm %s; want %s, %s", what, got.cong, rec.Mark.Assigned, cong, arm)
		}
	}
	set(record.ArmTreatment)
	fetch("without an entry", clientT, "bbr", record.ArmTreatment)
	fetch("with its own", clientC, "cubic", record.ArmControl)
	check(t, r.SetDeny([]netip.Prefix{netip.PrefixFrom(clientT, 32)}))
	fetch("denied", clientT, "cubic", record.ArmNone)
	check(t, r.SetDeny(nil))
	set(record.ArmControl)
	fetch("in the PoP's control block", clientT, "cubic", record.ArmControl)
}
