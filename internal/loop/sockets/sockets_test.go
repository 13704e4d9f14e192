package sockets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// examples are sockets whose every printed number can be checked by hand.
func examples(visit func(string, *inetdiag.Sock)) error {
	var s inetdiag.Sock
	listener := inetdiag.Sock{Family: inetdiag.FamilyInet6, State: inetdiag.StateListen, Local: netip.MustParseAddrPort("[::]:443"),
		Remote: netip.MustParseAddrPort("[::]:0"), Wqueue: 511, Cookie: 1, Has: inetdiag.HasInfo | inetdiag.HasCong | inetdiag.HasV6Only,
		Cong: inetdiag.CongOf("cubic"), Info: inetdiag.TCPInfo{State: 10, Sacked: 511, SndCwnd: 10, Len: 280}}
	busy := inetdiag.Sock{Family: inetdiag.FamilyInet, State: inetdiag.StateEstablished, Local: netip.MustParseAddrPort("192.0.2.1:443"),
		Remote: netip.MustParseAddrPort("203.0.113.7:51000"), Wqueue: 12000, Cookie: 2, Inode: 77, UID: 33,
		Has: inetdiag.HasInfo | inetdiag.HasCong | inetdiag.HasBBR, Cong: inetdiag.CongOf("bbr"),
		Info: inetdiag.TCPInfo{State: 1, Len: 280, RttUs: 48250, RttvarUs: 900, MinRttUs: 41000, SndCwnd: 64, SndSsthresh: 1<<31 - 1,
			DeliveryRate: 2_500_000, PacingRate: 3_125_000, MaxPacingRate: 1<<64 - 1, BytesAcked: 1_234_567, BytesSent: 2_000_000, BytesRetrans: 25_000},
		BBR: inetdiag.BBRInfo{BwBytesPerS: 2_600_000, MinRttUs: 41000, PacingGain: 320, CwndGain: 512}}
	old := inetdiag.Sock{Family: inetdiag.FamilyInet6, State: inetdiag.StateCloseWait, Local: netip.MustParseAddrPort("[2001:db8::1]:443"),
		Remote: netip.MustParseAddrPort("[2001:db8:ffff::9]:40000"), Rqueue: 1, Cookie: 3, Has: inetdiag.HasInfo | inetdiag.HasCong,
		Cong: inetdiag.CongOf("reno"), Info: inetdiag.TCPInfo{State: 8, Len: 104, RttUs: 1500, MinRttUs: 1<<32 - 1, SndCwnd: 10, SndSsthresh: 7}}
	wait := inetdiag.Sock{Family: inetdiag.FamilyInet, State: inetdiag.StateTimeWait, Timer: 3, ExpiresMs: 59000,
		Local: netip.MustParseAddrPort("192.0.2.1:443"), Remote: netip.MustParseAddrPort("203.0.113.8:51001"), Cookie: 4}
	for i, example := range []inetdiag.Sock{listener, busy, old, wait} {
		s = example // one Sock for all, as a dump does
		visit([]string{"own", "own", "edge", "edge"}[i], &s)
	}
	return nil
}

func lines(w io.Writer) func([]byte) error {
	return func(object []byte) error {
		_, err := w.Write(append(object, '\n'))
		return err
	}
}

func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/golden", func(t *testing.T, d *datadriven.TestData) string {
		var out bytes.Buffer
		var err error
		switch d.Cmd {
		case "table":
			err = WriteTable(&out, examples)
		case "json":
			err = EachJSON(examples, lines(&out))
		case "summary":
			var sum Summary
			if sum, err = Summarize(examples); err == nil {
				err = sum.WriteTable(&out)
			}
		case "summary-json":
			sum, _ := Summarize(examples)
			err = json.NewEncoder(&out).Encode(sum)
		}
		if err != nil {
			return err.Error()
		}
		return out.String()
	})
}

// keyOf is the rule that joins Go's field names to the printed ones.
func keyOf(name string) string {
	return snake(strings.NewReplacer("UID", "Uid", "ID", "Id", "V6Only", "V6_only", "TOS", "Tos", "TClass", "Tclass",
		"MPTCP", "Mptcp", "TLS", "Tls").Replace(name))
}

var attributeNames = map[string]string{
	"Info": "tcp_info", "BBR": "bbr_info", "Vegas": "vegas_info", "DCTCP": "dctcp_info", "Mem": "meminfo",
	"SKMem": "skmeminfo", "ULP": "ulp_info",
}

// TestJSONHasEveryField sets each field of Sock alone and demands that exactly
// its key shows it, so that no field added later is forgotten.
func TestJSONHasEveryField(t *testing.T) {
	base := inetdiag.Sock{Family: inetdiag.FamilyInet, Local: netip.MustParseAddrPort("192.0.2.1:1"), Remote: netip.MustParseAddrPort("192.0.2.2:2"),
		Has: inetdiag.HasUnknown - 1, Info: inetdiag.TCPInfo{Len: 280}}
	checked := 0
	var walk func(index []int, keys []string, v reflect.Type)
	walk = func(index []int, keys []string, v reflect.Type) {
		for i := range v.NumField() {
			f := v.Field(i)
			at, key := append(append([]int{}, index...), i), append(append([]string{}, keys...), keyOf(f.Name))
			switch {
			case f.Name == "Local" || f.Name == "Remote" || f.Name == "Family" || f.Name == "State" && len(index) == 0 || f.Name == "Has" || f.Name == "Storage":
			case f.Type.Kind() == reflect.Struct:
				walk(at, []string{attributeNames[f.Name]}, f.Type)
			default:
				s := base
				want := set(reflect.ValueOf(&s).Elem().FieldByIndex(at))
				if got := lookup(t, &s, key); fmt.Sprint(got) != want {
					t.Errorf("%s is %v, want %v", strings.Join(key, "."), got, want)
				}
				checked++
			}
		}
	}
	walk(nil, nil, reflect.TypeFor[inetdiag.Sock]())
	if last := infoMembers[len(infoMembers)-1]; last.end != inetdiag.TCPInfoLen {
		t.Errorf("%s ends at byte %d of %d", last.key, last.end, inetdiag.TCPInfoLen)
	}
	if checked < 118 {
		t.Errorf("only %d fields checked", checked)
	}
}

// set puts a value into a field and says how JSON must show it.
func set(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
		return "true"
	case v.Type() == reflect.TypeFor[inetdiag.Cong]():
		v.Set(reflect.ValueOf(inetdiag.CongOf("tls")))
		return "tls"
	case v.CanInt():
		v.SetInt(300)
	default:
		v.SetUint(211)
		return "211"
	}
	return "300"
}

func lookup(t *testing.T, s *inetdiag.Sock, key []string) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(AppendJSON(nil, "own", s)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, k := range key {
		v = v.(map[string]any)[k]
	}
	return v
}

func TestJSONEscapesNames(t *testing.T) {
	s := inetdiag.Sock{Family: inetdiag.FamilyInet, Has: inetdiag.HasCong, Cong: inetdiag.Cong{'"', 1, 'x'}}
	line := AppendJSON(nil, "a\"b\\c\n\xffü", &s)
	var v struct{ Netns, Cong string }
	if err := json.Unmarshal(line, &v); err != nil || v.Netns != "a\"b\\c\n\ufffdü" || v.Cong != "??x" {
		t.Errorf("%q %+v %v", line, v, err)
	}
}

func TestManyRowsStream(t *testing.T) {
	var out strings.Builder
	if err := WriteTable(&out, func(visit func(string, *inetdiag.Sock)) error {
		for range 500 {
			_ = examples(visit)
		}
		return nil
	}); err != nil || strings.Count(out.String(), "\n") != 2001 || strings.Count(out.String(), "STATE") != 1 {
		t.Errorf("%d lines, %v", strings.Count(out.String(), "\n"), err)
	}
}

type brokenPipe struct{ calls int }

func (b *brokenPipe) Write([]byte) (int, error) { b.calls++; return 0, errors.New("broken pipe") }

func TestWriteErrorIsReportedOnce(t *testing.T) {
	for name, write := range map[string]func(*brokenPipe, Source) error{
		"table": func(b *brokenPipe, f Source) error { return WriteTable(b, f) },
		"json":  func(b *brokenPipe, f Source) error { return EachJSON(f, lines(b)) },
	} {
		var b brokenPipe
		if err := write(&b, examples); err == nil || !strings.Contains(err.Error(), "broken pipe") || b.calls != 1 {
			t.Errorf("%s: %v after %d calls", name, err, b.calls)
		}
	}
	if err := EachJSON(func(func(string, *inetdiag.Sock)) error { return errors.New("dump broke off") }, lines(io.Discard)); err == nil {
		t.Error("the source's error is lost")
	}
}

func TestJSONAllocatesNothing(t *testing.T) {
	var s inetdiag.Sock
	_ = examples(func(_ string, x *inetdiag.Sock) { s = *x })
	s.Has, s.Info.Len = inetdiag.HasInfo|inetdiag.HasBBR|inetdiag.HasCong|inetdiag.HasSKMem, 280
	buf := make([]byte, 0, 8<<10)
	if n := testing.AllocsPerRun(100, func() { buf = AppendJSON(buf[:0], "own", &s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestScope: of two listeners on one address and port, the link that each is bound to tells them apart, as in ss.
func TestScope(t *testing.T) {
	listeners := func(visit func(string, *inetdiag.Sock)) error {
		for _, at := range []string{"[fe80::1]:8080", "0.0.0.0:8080", "[::]:8080"} {
			for i, link := range []string{"eth8", "eth9"} {
				visit("own", &inetdiag.Sock{Family: inetdiag.FamilyInet6, State: inetdiag.StateListen, Interface: uint32(8 + i), Link: inetdiag.CongOf(link),
					Local: netip.MustParseAddrPort(at), Remote: netip.MustParseAddrPort("[::]:0")})
			}
		}
		return nil
	}
	var table, json bytes.Buffer
	if err := errors.Join(WriteTable(&table, listeners), EachJSON(listeners, lines(&json))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[fe80::1]%eth8:8080 ", "[fe80::1]%eth9:8080 ", "0.0.0.0%eth8:8080 ", "0.0.0.0%eth9:8080 ", "[::]%eth8:8080 ", "[::]%eth9:8080 "} {
		if strings.Count(table.String(), want) != 1 {
			t.Errorf("%s is missing:\n%s", want, &table)
		}
	}
	for want, times := range map[string]int{`"local":"fe80::1%eth9"`: 1, `"local":"0.0.0.0"`: 2, `"local":"::"`: 2, `"link":"eth9"`: 3} {
		if strings.Count(json.String(), want) != times {
			t.Errorf("%s not %d times:\n%s", want, times, &json)
		}
	}
}
