package enforce

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
	"github.com/congctl/congctl/internal/tcp/abi"
)

// The C structs in the committed objects and the Go structs that mirror them
// must agree in size, and in the offset and size of each named field.
func TestLayoutsMatchBTF(t *testing.T) {
	main, err := bpfobj.LoadCongctl()
	if err != nil {
		t.Fatal(err)
	}
	sweep, err := bpfobj.LoadSweep()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, main.Types, "control", abi.Control{})
	compare(t, main.Types, "policy", abi.Policy{})
	compare(t, main.Types, "netns_state", abi.Netns{})
	compare(t, main.Types, "mark", abi.Mark{})
	compare(t, main.Types, "close_record", abi.Close{})
	compare(t, main.Types, "lpm_key", lpmKey{})
	compare(t, sweep.Types, "sweep", sweepValue{})
}

func compare(t *testing.T, types *btf.Spec, name string, goValue any) {
	t.Helper()
	var c *btf.Struct
	if err := types.TypeByName(name, &c); err != nil {
		t.Fatalf("struct %s: %v", name, err)
	}
	g := map[string][2]uint32{}
	flatten(g, reflect.TypeOf(goValue), 0)
	if size := uint32(reflect.TypeOf(goValue).Size()); size != c.Size {
		t.Errorf("struct %s: %d bytes in C, %d in Go", name, c.Size, size)
	}
	named := 0
	for _, m := range c.Members {
		if m.Name == "pad" {
			continue
		}
		named++
		size, err := btf.Sizeof(m.Type)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := g[fold(m.Name)]
		if !ok {
			t.Errorf("struct %s: field %s has no twin in Go", name, m.Name)
			continue
		}
		if got != [2]uint32{m.Offset.Bytes(), uint32(size)} {
			t.Errorf("struct %s: field %s at offset, size %d, %d in C and %v in Go", name, m.Name, m.Offset.Bytes(), size, got)
		}
	}
	if named != len(g) {
		t.Errorf("struct %s: %d fields in C, %d in Go", name, named, len(g))
	}
}

// flatten lists the fields of an embedded struct as its holder's own.
func flatten(into map[string][2]uint32, typ reflect.Type, base uintptr) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		switch {
		case f.Name == "_":
		case f.Anonymous:
			flatten(into, f.Type, base+f.Offset)
		default:
			into[fold(f.Name)] = [2]uint32{uint32(base + f.Offset), uint32(f.Type.Size())}
		}
	}
}

// fold brings rwnd_limited_us and RwndLimitedUs to one spelling. The two names
// that are words of their language are listed.
func fold(s string) string {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	if s == "errno" {
		return "error"
	}
	return s
}
