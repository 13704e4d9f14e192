package wire

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The idea: record.Conn and its message have the same fields, 111 of them, and
// two hand-written lists of 111 lines would drift. So the list is made once, at
// start, from the two types themselves: for each scalar field of the struct the
// message's field of the same name. A field without its partner cannot start.
//
// Names agree when they are equal without case; the message may add the unit that
// the kernel's name lacks (SndCwnd, SndCwndSegs).

var unitSuffixes = []string{"", "segs", "bytespers", "bytes"}

// pair is a scalar of a struct and of its message, each by its index.
type pair struct {
	name           string
	field, message int

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
		p := pair{name: f.Name, field: f.Index[0], message: m.Index[0]}
		if e, ok := reflect.Zero(m.Type).Interface().(protoreflect.Enum); ok {
			last := e.Descriptor().Values().Get(e.Descriptor().Values().Len() - 1)
			p.last, p.lenient = int64(last.Number()), strings.HasSuffix(string(last.Name()), "_UNKNOWN")
		}
		list = append(list, p)
	}
	return list
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

// send copies a struct's scalars to its message; both are pointers.
func send(list []pair, message, from any) {
	m, v := reflect.ValueOf(message).Elem(), reflect.ValueOf(from).Elem()
	for i := range list {
		p := &list[i]
		set(m.Field(p.message), v.Field(p.field)) // it fits: a message has the wider types
	}
}

// receive is the inverse of send.
func receive(list []pair, to, message any) error {
	v, m := reflect.ValueOf(to).Elem(), reflect.ValueOf(message).Elem()
	for i := range list {
		p := &list[i]
		field, sent := v.Field(p.field), m.Field(p.message)
		switch enum := p.last > 0 && uint64(sent.Int()) > uint64(p.last); {
		case enum && p.lenient:
			field.SetUint(uint64(p.last))
		case enum:
			return fmt.Errorf("field %s: value %d is above %d: written by a newer congctl, or damaged", p.name, sent.Int(), p.last)
		case !set(field, sent):
			return fmt.Errorf("field %s: value %d is above %d: written by a newer congctl, or damaged", p.name, sent.Uint(), uint64(1)<<field.Type().Bits()-1)
		}
	}
	return nil
}

// set copies a scalar between types of the same sort and reports whether it fits.
func set(to, from reflect.Value) bool {
	switch {
	case from.Kind() == reflect.Bool:
		to.SetBool(from.Bool())
		return true
	case from.CanFloat():
		to.SetFloat(from.Float())
		return true
	}
	var v uint64
	if from.CanInt() { // an enum, a time, or a length
		v = uint64(from.Int())
	} else {
		v = from.Uint()
	}
	if to.CanInt() {
		to.SetInt(int64(v))
		return !to.OverflowInt(int64(v))
	}
	to.SetUint(v)
	return !to.OverflowUint(v)
}
