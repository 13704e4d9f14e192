package inetdiag

import (
	"bytes"
	"errors"
	"testing"
)

func TestNextWalksWhatAppendMessageWrote(t *testing.T) {
	var b []byte
	for i := range 5 {
		b = AppendMessage(b, Header{Type: TypeByFamily, Flags: FlagMulti, Seq: uint32(i), Port: 9}, bytes.Repeat([]byte{byte(i)}, i))
	}
	for i := range 5 {
		m, rest, err := Next(b)
		if err != nil || m.Seq != uint32(i) || m.Port != 9 || m.Flags != FlagMulti || len(m.Data) != i {
			t.Fatalf("message %d: %+v, %v", i, m, err)
		}
		b = rest
	}
	if len(b) != 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

func TestNextRefusesBadLengths(t *testing.T) {
	good := AppendMessage(nil, Header{Type: TypeDone}, []byte{0, 0, 0, 0})
	for _, b := range [][]byte{nil, good[:15], good[:19], append([]byte{15, 0, 0, 0}, good[4:]...), append([]byte{255, 255, 255, 255}, good[4:]...)} {
		if _, _, err := Next(b); !errors.Is(err, ErrMessage) {
			t.Errorf("%v: %v", b, err)
		}
	}
}

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		kind  uint16
		data  []byte
		errno int
		ok    bool
	}{
		{TypeDone, []byte{0, 0, 0, 0}, 0, true},
		{TypeError, []byte{0xfe, 0xff, 0xff, 0xff, 1, 2, 3}, 2, true}, // -ENOENT
		{TypeError, []byte{0xfe, 0xff}, 0, false},
		{TypeByFamily, []byte{0, 0, 0, 0}, 0, false},
	} {
		if errno, ok := (Message{Header: Header{Type: c.kind}, Data: c.data}).Errno(); errno != c.errno || ok != c.ok {
			t.Errorf("type %d %v: %d, %v", c.kind, c.data, errno, ok)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(AppendMessage(AppendMessage(nil, Header{Type: 20}, []byte("abc")), Header{Type: TypeDone}, make([]byte, 4)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			m, rest, err := Next(b)
			if err != nil {
				return
			}
			if len(rest) >= len(b) || len(m.Data) > len(b) {
				t.Fatal("no progress")
			}
			m.Errno()
			b = rest
		}
	})
}

func TestRequestLayout(t *testing.T) {
	v2 := Request{Family: FamilyInet6, States: Listening, Ext: ExtPoll}.Append(nil, 7)
	if len(v2) != 72 || le.Uint32(v2) != 72 || le.Uint16(v2[4:]) != TypeByFamily || le.Uint16(v2[6:]) != 0x301 || le.Uint32(v2[8:]) != 7 {
		t.Errorf("header of v2: %v", v2[:16])
	}
	if v2[16] != 10 || v2[17] != 6 || v2[18] != 0b1110 || le.Uint32(v2[20:]) != 1<<10 {
		t.Errorf("body of v2: %v", v2[16:24])
	}
	v1 := Request{States: Connected, Ext: ExtAll, Bytecode: []byte{1, 2, 3, 4}, StorageFD: 9}.Append(nil, 8)
	if len(v1) != 76+8+12 || le.Uint32(v1) != uint32(len(v1)) || le.Uint16(v1[4:]) != TypeGetSock || v1[19] != 0xff || le.Uint32(v1[68:]) != Connected {
		t.Errorf("v1: %v", v1)
	}
	if want := []byte{8, 0, 1, 0, 1, 2, 3, 4, 12, 0, 2, 0x80, 8, 0, 1, 0, 9, 0, 0, 0}; !bytes.Equal(v1[76:], want) {
		t.Errorf("attributes %v, want %v", v1[76:], want)
	}
}

func TestStateNames(t *testing.T) {
	for state, name := range map[uint8]string{1: "ESTABLISHED", 6: "TIME_WAIT", 10: "LISTEN", 13: "BOUND_INACTIVE", 14: "STATE_14"} {
		if StateName(state) != name {
			t.Errorf("state %d is %s, want %s", state, StateName(state), name)
		}
	}
	if Connected != 0b101100110010 || Everything != 0x3ffe {
		t.Errorf("Connected %b, Everything %x", Connected, Everything)
	}
}
