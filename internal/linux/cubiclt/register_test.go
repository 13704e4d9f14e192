package cubiclt

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// TestCubicsBytes: the program and its loader leave CUBIC the same bytes.
func TestCubicsBytes(t *testing.T) {
	m := regexp.MustCompile(`#define LT_CUBIC_BYTES (\d+)`).FindSubmatch(KernelSource()["cubic_lt.h"])
	if len(m) < 2 {
		t.Fatal("no LT_CUBIC_BYTES in cubic_lt.h")
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n != cubicBytes {
		t.Errorf("%d in cubic_lt.h, %d here", n, cubicBytes)
	}
}

// TestChoose: one program for each signature, by the same name; the other one is not loaded.
func TestChoose(t *testing.T) {
	for _, signature := range []int{oldSignature, newSignature} {
		spec, err := LoadCubicLT()
		if err != nil {
			t.Fatal(err)
		}
		want := spec.Programs[map[int]string{oldSignature: oldProgram, newSignature: newProgram}[signature]].Instructions
		choose(spec, signature)
		got := spec.Programs[newProgram]
		if len(spec.Programs) != 8 || len(got.Instructions) != len(want) || &got.Instructions[0] != &want[0] || got.AttachTo != "tcp_congestion_ops:cong_control" {
			t.Errorf("signature %d: %d programs, %d instructions of %d, for %s", signature, len(spec.Programs), len(got.Instructions), len(want), got.AttachTo)
		}
	}
}

// TestKernelsThatDoNotFit: what a kernel's types lack is named.
func TestKernelsThatDoNotFit(t *testing.T) {
	pointer := func(params int) btf.Type {
		return &btf.Pointer{Target: &btf.FuncProto{Return: &btf.Void{}, Params: make([]btf.FuncParam, params)}}
	}
	for _, c := range []struct {
		member string
		typ    btf.Type
		want   int
	}{
		{"cong_control", pointer(2), 2}, {"cong_control", pointer(4), 4},
		{"cong_control", pointer(3), 0}, {"cong_control", &btf.Int{Size: 8}, 0}, {"cong_avoid", pointer(4), 0},
	} {
		s := &btf.Struct{Name: "tcp_congestion_ops", Members: []btf.Member{{Name: c.member, Type: c.typ}}}
		if n, err := parameters(s, "cong_control"); n != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s %v: %d, %v", c.member, c.typ, n, err)
		}
	}
}

func TestRename(t *testing.T) {
	for name, ok := range map[string]bool{"": false, "a": true, "fifteen.letters": true, "sixteen_letters_": false, "a-dash": false} {
		spec, err := LoadCubicLT()
		if err != nil {
			t.Fatal(err)
		}
		err = rename(spec, name)
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if data := spec.Maps[theMap].Contents[0].Value.([]byte); ok && !bytes.Contains(data, []byte("\x00"+name+"\x00")) {
			t.Errorf("%q: %q", name, data)
		}
	}
}

func TestUnprivileged(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for ordinary users: root may register it; no minimum kernel")
	}
	if _, err := registerAs("lt_nobody"); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "CAP_BPF") {
		t.Errorf("an ordinary user: %v", err)
	}
	if ok, why := Loads(); ok || !strings.Contains(why, "CAP_BPF") {
		t.Errorf("an ordinary user: loads %v, %q", ok, why)
	}
}
