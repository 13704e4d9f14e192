package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
)

// bpfIDs are the eBPF objects that a process holds. The kernel gives an id once,
// so that an id which is gone is the object gone; counting all of a host's objects
// would count other people's.
type bpfIDs struct {
	progs []ebpf.ProgramID
	maps  []ebpf.MapID
}

func bpfOf(t testing.TB, pid int) (ids bpfIDs) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	check(t, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(b)) {
			var id uint32
			switch key, value, _ := strings.Cut(line, ":"); key {
			case "prog_id":
				_, err = fmt.Sscan(value, &id)
				ids.progs = append(ids.progs, ebpf.ProgramID(id))
			case "map_id":
				_, err = fmt.Sscan(value, &id)
				ids.maps = append(ids.maps, ebpf.MapID(id))
			}
			check(t, err)
		}
	}
	if len(ids.progs) == 0 || len(ids.maps) == 0 {
		t.Fatalf("process %d holds no eBPF: %+v", pid, ids)
	}
	return ids
}

// left counts those that the kernel still has.
func (ids bpfIDs) left() (n int) {
	for _, id := range ids.progs {
		if p, err := ebpf.NewProgramFromID(id); !errors.Is(err, os.ErrNotExist) {
			n++
			p.Close()
		}
	}
	for _, id := range ids.maps {
		if m, err := ebpf.NewMapFromID(id); !errors.Is(err, os.ErrNotExist) {
			n++
			m.Close()
		}
	}
	return n
}
