package enforce

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// With Early each response is on the treatment before its first byte, small ones too, and stays on it from one to the next.
// What counts is the same as without.
func TestTreatmentFromTheFirstByte(t *testing.T) {
	r := newRig(t)
	r.early(record.ArmTreatment, record.ArmControl)
	treated, control := r.talk(clientT), r.talk(clientC)
	if treated.cong() != "bbr" || control.cong() != "cubic" {
		t.Errorf("before a byte: %s, %s", treated.cong(), control.cong())
	}
	for i, n := range []int{small, large, small, small, large} {
		var counted [2]uint64
		for j, k := range []*talk{treated, control} {
			before, _ := k.counted()
			k.ask()
			k.send(n)
			if want := []string{"bbr", "cubic"}[j]; k.cong() != want {
				t.Errorf("response %d of %d bytes: %s, want %s", i, n, k.cong(), want)
			}
			k.ask()
			after, _ := k.counted()
			counted[j] = after - before
		}
		// What is in flight may be the rest of it, as far as it is written: it crosses before 100,000 bytes are acknowledged.
		if n == small && counted != [2]uint64{} || n == large && (min(counted[0], counted[1]) < large-400_000 || max(counted[0], counted[1]) > large-50_000) {
			t.Errorf("response %d of %d bytes: %d count in T and C", i, n, counted)
		}
	}
	if s, err := r.Stats(); err != nil || s.Switched != 1 || s.Returned != 0 || s.Crossed != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	if m, _ := treated.state(); m.Applied != record.AppliedTreatment || m.Crossings != 2 {
		t.Errorf("%s, %d crossings", m.Applied, m.Crossings)
	}
}

// early puts clientT and clientC in arms, treated from the first byte on.
func (r *rig) early(arms ...record.Arm) {
	r.t.Helper()
	prog := plan.Program{Plan: 7, MinBytes: 100_000, Early: true}
	for i, arm := range arms {
		p, _ := record.PrefixOf([]netip.Addr{clientT, clientC}[i])
		prog.Entries = append(prog.Entries, plan.ProgramEntry{Prefix: p, Policy: policyFor(arm)})
	}
	_, err := r.Set(prog)
	check(r.t, err)
}

// With Early a plan without the network, a block of control or a stop ends the treatment with the response.
func TestEndOfTreatmentFromTheFirstByte(t *testing.T) {
	r := newRig(t)
	r.early(record.ArmTreatment)
	treated := r.talk(clientT)
	end := func(what, want string) {
		t.Helper()
		for range 2 { // what is under way may end as it began
			treated.ask()
			treated.send(small)
		}
		if got := treated.cong(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	end("in the plan", "bbr")
	r.early()
	end("out of the plan", "cubic")
	r.early(record.ArmTreatment)
	end("in the plan again", "bbr")
	r.Stop(abi.StopKilled, true)
	end("stopped", "cubic")
	r.Stop(abi.StopKilled, false)
	end("resumed", "bbr")
	r.early(record.ArmControl)
	end("in a block of control", "cubic")
}

// With Early a connection that was treated in one block and crosses in one of control leaves the treatment there, and counts there.
func TestTreatedBeforeItsBlock(t *testing.T) {
	r := newRig(t)
	r.early(record.ArmTreatment)
	k := r.talk(clientT)
	k.ask()
	k.send(20_000)
	r.early(record.ArmControl)
	if k.cong() != "bbr" {
		t.Fatalf("before the border: %s", k.cong())
	}
	k.send(large)
	m, _ := k.state()
	if k.cong() != "cubic" || m.Applied != record.AppliedControl || m.Crossings != 1 {
		t.Errorf("%s, %s, %d crossings", k.cong(), m.Applied, m.Crossings)
	}
}

// With Early a small response that outlives its block leaves the treatment at the border to one of control.
func TestSmallResponseAtABorder(t *testing.T) {
	r := newRig(t)
	p, _ := record.PrefixOf(clientT)
	v, border := policyFor(record.ArmTreatment), bootNs()+uint64(300*time.Millisecond)
	v.SwitchNs, v.ArmNext = border, record.ArmControl
	_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, BlockNs: uint64(time.Hour), BorderNs: border, Early: true, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}})
	check(t, err)
	k := r.talk(clientT)
	k.ask()
	began := k.cong()
	k.until("way back", func() bool { k.send(1); return k.cong() == "cubic" })
	m, _ := k.state()
	if began != "bbr" || m.Crossings != 0 || bootNs() < border {
		t.Errorf("began on %s, %d crossings", began, m.Crossings)
	}
}

// With Early what may not be treated any longer is not, from the crossing on at the latest, and what its application chose since
// the connection was accepted stays.
func TestRefusedAfterTheFirstByte(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*rig, *talk)
		applied record.Applied
		cong    string
	}{
		"stopped":                  {func(r *rig, _ *talk) { r.Stop(abi.StopKilled, true) }, record.AppliedNoneKilled, "cubic"},
		"denied":                   {func(r *rig, _ *talk) { check(r.t, r.SetDeny([]netip.Prefix{netip.PrefixFrom(clientT, 32)})) }, record.AppliedNoneDenied, "cubic"},
		"its application's choice": {func(r *rig, k *talk) { k.choose("reno") }, record.AppliedNoneApp, "reno"},
		"another treatment":        {func(r *rig, _ *talk) { r.earlyWith("reno") }, record.AppliedTreatment, "reno"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.early(record.ArmTreatment)
			k := r.talk(clientT)
			c.change(r, k)
			k.ask()
			k.send(large)
			m, _ := k.state()
			if k.cong() != c.cong || m.Applied != c.applied || m.Crossings != 1 {
				t.Errorf("%s, %s, %d crossings", k.cong(), m.Applied, m.Crossings)
			}
			k.ask()
			k.send(small)
			if k.cong() != c.cong {
				t.Errorf("the next response: %s", k.cong())
			}
		})
	}
}

func (k *talk) choose(cong string) {
	k.with(func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, cong) })
}

func (r *rig) earlyWith(cong string) {
	p, _ := record.PrefixOf(clientT)
	v := policyFor(record.ArmTreatment)
	v.Cong = inetdiag.CongOf(cong)
	_, err := r.Set(plan.Program{Plan: 8, MinBytes: 100_000, Early: true, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}})
	check(r.t, err)
}

// With Early a small response is asked for before its first byte, after an idle time in which the block ended too.
func TestAskedAtTheWrite(t *testing.T) {
	r := newRig(t)
	r.early(record.ArmTreatment)
	k := r.talk(clientT)
	for range 2 {
		k.ask()
		k.send(small)
		k.ask() // all of it is acknowledged
	}
	r.early(record.ArmControl)
	_, err := k.server.Write([]byte{1})
	check(t, err)
	if k.cong() != "cubic" {
		t.Errorf("right after the first byte in a block of control: %s", k.cong())
	}
}
