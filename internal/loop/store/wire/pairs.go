package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The idea: record.Conn and its message have the same fields, 111 of them, and
// two hand-written lists of 111 lines would drift. So the list is made once, at
// start, from the two types themselves: for each scalar field of the struct the
// message's field of the same name, with its number and where the struct has it. A field without
// its partner cannot start.
//
// Names agree when they are equal without case; the message may add the unit that
// the kernel's name lacks (SndCwnd, SndCwndSegs).

var unitSuffixes = []string{"", "segs", "bytespers", "bytes"}

// pair is a scalar of a struct and of its message, each by its index.
type pair struct {
	name           string
	field, message int

	at, size uintptr // where the struct has it, and in how many bytes
	number   protowire.Number
	wire     protowire.Type
	kind     reflect.Kind // of the message's field; an enum is Int32

	// last is an enum's largest number, 0 where the field is none. Past it the last is taken
	// where that means "unknown", as it does to a name that a newer writer knows; else the
	// number is an error.
	last    int64
	lenient bool
}

// Fields that are no scalars: conn.go handles them.
var connOthers = map[string]bool{"Local": true, "Remote": true, "Prefix": true, "Cong": true, "Info": true, "BBR": true}

var (
	connPairs = pairsOf(reflect.TypeFor[record.Conn](), reflect.TypeFor[congctlv1.Conn](), connOthers)
	infoPairs = pairsOf(reflect.TypeFor[inetdiag.TCPInfo](), reflect.TypeFor[congctlv1.TcpInfo](), nil)
	bbrPairs  = pairsOf(reflect.TypeFor[inetdiag.BBRInfo](), reflect.TypeFor[congctlv1.BbrInfo](), nil)
)

func pairsOf(t, message reflect.Type, others map[string]bool) (list []pair) {
	for f := range t.Fields() {
		if others[f.Name] {
			continue
		}
		m := partner(f.Name, message)
		p := pair{name: f.Name, field: f.Index[0], message: m.Index[0], at: f.Offset, size: f.Type.Size(), kind: m.Type.Kind()}
		p.number, p.wire = tagOf(m)
		if e, ok := reflect.Zero(m.Type).Interface().(protoreflect.Enum); ok {
			last := e.Descriptor().Values().Get(e.Descriptor().Values().Len() - 1)
			p.last, p.lenient = int64(last.Number()), strings.HasSuffix(string(last.Name()), "_UNKNOWN")
		}
		list = append(list, p)
	}
	return list
}

// tagOf reads number and wire type from a generated field's tag: "varint,3,opt,name=window,proto3".
func tagOf(f reflect.StructField) (protowire.Number, protowire.Type) {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	number, err := strconv.Atoi(parts[1])
	wire, ok := map[string]protowire.Type{"varint": protowire.VarintType, "fixed64": protowire.Fixed64Type}[parts[0]]
	if err != nil || !ok {
		panic(fmt.Sprintf("field %s has an encoding that scalars.go lacks: %s", f.Name, f.Tag))
	}
	return protowire.Number(number), wire
}

func partner(name string, message reflect.Type) reflect.StructField {
	for _, unit := range unitSuffixes {
		for f := range message.Fields() {
			if f.IsExported() && strings.EqualFold(f.Name, name+unit) {
				return f
			}
		}
	}
	panic(fmt.Sprintf("field %s has no partner in message %s: add it to proto/congctl/v1/record.proto", name, message.Name()))
}
