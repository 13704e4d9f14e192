package sample

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// probe builds a socket message whose tcp_info has only these bits set, decodes
// it, and names the Go fields that changed with their values.
func probe(t *testing.T, size, bitOffset, bits int) map[string]uint64 {
	t.Helper()
	info := make([]byte, size)
	for i := range bits {
		info[(bitOffset+i)/8] |= 1 << ((bitOffset + i) % 8)
	}
	var s inetdiag.Sock
	if err := inetdiag.Decode(inetMessage(0, info), &s); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	v := reflect.ValueOf(s.Info)
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Bool && f.Bool():
			got[v.Type().Field(i).Name] = 1
		case f.CanUint() && f.Uint() != 0:
			got[v.Type().Field(i).Name] = f.Uint()
		}
	}
	return got
}

// goName maps a kernel name to ours without the unit: tcpi_last_data_sent, LastDataSentMs.
func goName(kernel string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(kernel, "tcpi_"), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// TestTCPInfoAgainstBTF sets one field of the running kernel's struct tcp_info
// at a time and demands that exactly the Go field of that name takes it.
func TestTCPInfoAgainstBTF(t *testing.T) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Skipf("needs kernel BTF (/sys/kernel/btf/vmlinux): %v; minimum kernel 5.4", err)
	}
	var info *btf.Struct
	if err := spec.TypeByName("tcp_info", &info); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, m := range info.Members {
		bits := int(m.BitfieldSize)
		if bits == 0 {
			size, err := btf.Sizeof(m.Type)
			if err != nil {
				t.Fatal(err)
			}
			bits = 8 * size
		}
		if int(m.Offset)+bits > 8*inetdiag.TCPInfoLen {
			t.Logf("%s at %d is newer than this decoder", m.Name, m.Offset/8)
			continue
		}
		got := probe(t, int(info.Size), int(m.Offset), bits)
		known++
		for name, v := range got {
			unit := strings.TrimPrefix(name, goName(m.Name))
			if len(got) != 1 || (unit != "" && unit != "Us" && unit != "Ms") || v != 1<<bits-1 {
				t.Errorf("%s at bit %d, %d bits: decoded as %v", m.Name, m.Offset, bits, got)
			}
		}
		if len(got) == 0 {
			t.Errorf("%s at bit %d is not decoded", m.Name, m.Offset)
		}
	}
	if fields := reflect.TypeFor[inetdiag.TCPInfo]().NumField() - 1; info.Size >= inetdiag.TCPInfoLen && known != fields {
		t.Errorf("the kernel has %d fields, we %d", known, fields)
	}
	t.Logf("%d fields, %d bytes", known, info.Size)
}
