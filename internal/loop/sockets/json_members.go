package sockets

import (
	"reflect"
	"strings"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// member is one field of a struct of the kernel. Its key is the field's name in Go, with
// underscores; rates are bytes per second.
type member struct {
	key string
	end int // the byte behind it in the kernel's struct, which has no holes
}

var (
	infoMembers  = membersOf(reflect.TypeFor[inetdiag.TCPInfo]())
	bbrMembers   = membersOf(reflect.TypeFor[inetdiag.BBRInfo]())
	vegasMembers = membersOf(reflect.TypeFor[inetdiag.VegasInfo]())
	dctcpMembers = membersOf(reflect.TypeFor[inetdiag.DCTCPInfo]())
	memMembers   = membersOf(reflect.TypeFor[inetdiag.MemInfo]())
	skMemMembers = membersOf(reflect.TypeFor[inetdiag.SKMemInfo]())
)

func membersOf(t reflect.Type) (list []member) {
	end := 0
	for f := range t.Fields() {
		switch f.Name {
		case "Len": // of the struct, not in it
			continue
		case "RcvWscale", "FastopenClientFail": // bits of the byte of the field before
		default:
			end += int(f.Type.Size())
		}
		list = append(list, member{snake(f.Name), end})
	}
	return list
}

// snake returns "rtt_us" for "RttUs".
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// members writes the fields of a struct that end within the bytes that the kernel sent.
func (o *object) members(list []member, of any, sent int) {
	v := reflect.ValueOf(of).Elem()
	for i, m := range list {
		switch f := v.Field(i); {
		case sent < m.end:
		case f.Kind() == reflect.Bool:
			o.bool(m.key, f.Bool())
		default:
			o.uint(m.key, f.Uint())
		}
	}
}
