package wire

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/record"
	pb "github.com/congctl/congctl/internal/data/wire/congctlv1"
)

// The idea: record.Conn and its message have the same fields, 110 of them, and
// two hand-written lists of 110 lines would drift. So the list is made once, at
// start, from the two types themselves: for each scalar field of the struct the
// message's field of the same name, as (number, wire type, offset, size). One
// loop then encodes, one decodes, and a field without its partner cannot start.
//
// Names agree when they are equal without case and underscores; the message may
// add the unit that the kernel's name lacks (SndCwnd, snd_cwnd_segs).

var unitSuffixes = []string{"", "segs", "bytespers", "bytes"}

// field is one scalar of a struct.
type field struct {
	name   string
	num    protowire.Number
	wire   protowire.Type // varint or fixed64
	offset uintptr
	size   uintptr // 1, 2, 4 or 8

	// max is the largest value that fits; past it, clamp is taken instead when
	// lenient (a name that a newer writer knows reads as "unknown", any number
	// but 0 is true), else it is an error.
	max, clamp uint64
	lenient    bool
}

type layout struct {
	fields []field
	byNum  []*field // nil: not a scalar of this struct
}

// Fields that are no scalars: conn.go handles them.
var connOthers = map[string]bool{"Local": true, "Remote": true, "Prefix": true, "Cong": true, "Info": true, "BBR": true}

var (
	connLayout = newLayout(reflect.TypeFor[record.Conn](), (*pb.Conn)(nil).ProtoReflect().Descriptor(), connOthers)
	infoLayout = newLayout(reflect.TypeFor[inetdiag.TCPInfo](), (*pb.TcpInfo)(nil).ProtoReflect().Descriptor(), nil)
	bbrLayout  = newLayout(reflect.TypeFor[inetdiag.BBRInfo](), (*pb.BbrInfo)(nil).ProtoReflect().Descriptor(), nil)
)

func newLayout(t reflect.Type, d protoreflect.MessageDescriptor, others map[string]bool) *layout {
	l := &layout{}
	for f := range t.Fields() {
		if !others[f.Name] {
			l.fields = append(l.fields, newField(f, partner(f.Name, d)))
		}
	}
	for i := range l.fields {
		f := &l.fields[i]
		for len(l.byNum) <= int(f.num) {
			l.byNum = append(l.byNum, nil)
		}
		l.byNum[f.num] = f
	}
	return l
}

func partner(name string, d protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for _, unit := range unitSuffixes {
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if strings.ReplaceAll(string(f.Name()), "_", "") == strings.ToLower(name)+unit {
				return f
			}
		}
	}
	panic(fmt.Sprintf("field %s has no partner in message %s: add it to proto/congctl/v1/record.proto", name, d.Name()))
}

func newField(g reflect.StructField, p protoreflect.FieldDescriptor) field {
	f := field{name: g.Name, num: p.Number(), offset: g.Offset, size: g.Type.Size(), wire: protowire.VarintType}
	switch p.Kind() {
	case protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		f.wire = protowire.Fixed64Type
	}
	f.max = uint64(math.MaxUint64) >> (64 - 8*f.size)
	switch g.Type.Kind() {
	case reflect.Bool:
		f.max, f.clamp, f.lenient = 1, 1, true
	case reflect.Int: // a length: never negative
		f.max = math.MaxInt32
	}
	if e := p.Enum(); e != nil {
		last := e.Values().Get(e.Values().Len() - 1)
		f.max, f.clamp = uint64(last.Number()), uint64(last.Number())
		f.lenient = strings.HasSuffix(string(last.Name()), "_UNKNOWN")
	}
	return f
}

func (f *field) load(p unsafe.Pointer) uint64 {
	p = unsafe.Add(p, f.offset)
	switch f.size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func (f *field) store(p unsafe.Pointer, v uint64) error {
	if v > f.max {
		if !f.lenient {
			return fmt.Errorf("field %s: value %d is above %d: written by a newer congctl, or damaged", f.name, v, f.max)
		}
		v = f.clamp
	}
	p = unsafe.Add(p, f.offset)
	switch f.size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
	return nil
}

// append writes the scalars of the struct at p that are not zero.
func (l *layout) append(b []byte, p unsafe.Pointer) []byte {
	for i := range l.fields {
		f := &l.fields[i]
		v := f.load(p)
		if v == 0 {
			continue
		}
		b = protowire.AppendTag(b, f.num, f.wire)
		if f.wire == protowire.Fixed64Type {
			b = protowire.AppendFixed64(b, v)
		} else {
			b = protowire.AppendVarint(b, v)
		}
	}
	return b
}

// consume reads one field into the struct at p. known is false when the number
// is not a scalar of this layout; the caller then handles or skips it.
func (l *layout) consume(b []byte, num protowire.Number, wire protowire.Type, p unsafe.Pointer) (n int, known bool, err error) {
	if int(num) >= len(l.byNum) || l.byNum[num] == nil || l.byNum[num].wire != wire {
		return 0, false, nil
	}
	f := l.byNum[num]
	var v uint64
	if wire == protowire.Fixed64Type {
		v, n = protowire.ConsumeFixed64(b)
	} else {
		v, n = protowire.ConsumeVarint(b)
	}
	if n < 0 {
		return 0, true, fmt.Errorf("field %s: %w", f.name, protowire.ParseError(n))
	}
	return n, true, f.store(p, v)
}
