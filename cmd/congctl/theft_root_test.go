package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
)

const thiefName = "some_exporter"

// attachThief attaches a sock_ops program as others write them: when a connection
// is accepted it sets the callback flags that it wants and so drops ours. An alarm has its number,
// since its name takes CAP_SYS_ADMIN, which is given up.
func attachThief(t testing.TB) (named string) {
	t.Helper()
	const passiveEstablished, stateFlag = 5, 1 << 2
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: thiefName, Type: ebpf.SockOps, License: "GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, 0, asm.Word),
			asm.JNE.Imm(asm.R2, passiveEstablished, "out"),
			asm.Mov.Imm(asm.R2, stateFlag),
			asm.FnSockOpsCbFlagsSet.Call(),
			asm.Mov.Imm(asm.R0, 1).WithSymbol("out"),
			asm.Return(),
		},
	})
	check(t, err)
	l, err := link.AttachCgroup(link.CgroupOptions{Path: os.Getenv(cgroupEnv), Attach: ebpf.AttachCGroupSockOps, Program: prog})
	check(t, err)
	t.Cleanup(func() {
		l.Close()
		prog.Close()
	})
	info, err := prog.Info()
	check(t, err)
	id, _ := info.ID()
	return fmt.Sprintf("sock_ops program id %d (congctl host check has its name)", id)
}

// attachAlone attaches a sock_ops program that excludes a second one.
func attachAlone(t testing.TB) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: thiefName, Type: ebpf.SockOps, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	check(t, err)
	cg, err := os.Open(os.Getenv(cgroupEnv))
	check(t, err)
	check(t, link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(cg.Fd()), Program: prog, Attach: ebpf.AttachCGroupSockOps}))
	t.Cleanup(func() {
		check(t, link.RawDetachProgram(link.RawDetachProgramOptions{Target: int(cg.Fd()), Program: prog, Attach: ebpf.AttachCGroupSockOps}))
		cg.Close()
		prog.Close()
	})
}

// TestTheftIsAlarmedWithinAMinute lets another program take the callbacks of ten
// connections. The agent sleeps meanwhile: a sweep that comes just then would give
// them back before anything is seen of the theft.
func TestTheftIsAlarmedWithinAMinute(t *testing.T) {
	notShort(t, "callbacks are looked after each 30 s")
	e := newEdge(t, quickSettings())
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	s := newServer(t)
	e.pause()
	thief := attachThief(t)
	if got := s.transfer(from, large); got != "cubic" {
		t.Fatalf("the thief took nothing: %s", got)
	}
	const connections = 10
	var victims []*visitor
	for range connections {
		victims = append(victims, s.dial(from))
	}
	e.signal(syscall.SIGCONT)

	began := time.Now()
	isTheft := func(a string) bool { return strings.HasPrefix(a, "theft: ") }
	var status control.Status
	eventually(t, "all seen, and an alarm in the status", time.Minute, func() bool {
		var err error
		status, err = e.status()
		return err == nil && status.Agent.Stripped >= connections && slices.ContainsFunc(status.Agent.Alarms, isTheft)
	})
	took := time.Since(began)
	i := slices.IndexFunc(status.Agent.Alarms, isTheft)
	if !strings.Contains(status.Agent.Alarms[i], thief) {
		t.Errorf("alarms %q do not name %s", status.Agent.Alarms, thief)
	}
	t.Logf("after %s: %s", took.Round(time.Second), status.Agent.Alarms)
	eventually(t, "an event that names the thief", patience, func() bool {
		var events []journal.Event
		e.ask(&events, "events")
		return slices.ContainsFunc(events, func(v journal.Event) bool { return v.Kind == "alarm-theft" && strings.Contains(v.Text, thief) })
	})
	if status.Tier != "full" {
		t.Skipf("tier %s gives no callbacks back: minimum kernel 6.12", status.Tier)
	}
	if status.Agent.Stripped != connections || status.Agent.Rearmed != connections {
		t.Errorf("%d taken of %d, %d given back", status.Agent.Stripped, connections, status.Agent.Rearmed)
	}
	for i, v := range victims {
		check(t, v.get(large))
		if v.runs() != "bbr" {
			t.Errorf("connection %d runs %s after its callbacks were given back", i, v.runs())
		}
		v.Close()
	}
	e.stop()
}
