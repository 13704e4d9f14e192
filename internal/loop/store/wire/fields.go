package wire

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Field is a scalar of a record: its name in proto/congctl/v1, below "info_" or "bbr_" where it
// is in one of these, and where record.Conn has it.
type Field struct {
	Name  string
	Index []int
}

// Fields lists the scalars of a record in the order of record.Conn. The rest are Local, Remote,
// Prefix and Cong. A store that keeps records makes its columns of them, so that a new field has
// a column without a second list.
func Fields() (list []Field) {
	conn := reflect.TypeFor[record.Conn]()
	list = fieldsOf(connPairs, reflect.TypeFor[congctlv1.Conn](), "", nil)
	list = append(list, fieldsOf(infoPairs, reflect.TypeFor[congctlv1.TcpInfo](), "info_", indexIn(conn, "Info"))...)
	return append(list, fieldsOf(bbrPairs, reflect.TypeFor[congctlv1.BbrInfo](), "bbr_", indexIn(conn, "BBR"))...)
}

func indexIn(t reflect.Type, name string) []int {
	f, _ := t.FieldByName(name) // as connOthers has it
	return f.Index
}

func fieldsOf(pairs []pair, message reflect.Type, below string, at []int) (list []Field) {
	for _, p := range pairs {
		index := append(append([]int{}, at...), p.field)
		list = append(list, Field{below + protoName(message.Field(p.message)), index})
	}
	return list
}

// protoName reads the name from the generated field's tag.
func protoName(f reflect.StructField) string {
	for part := range strings.SplitSeq(f.Tag.Get("protobuf"), ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			return name
		}
	}
	panic(fmt.Sprintf("field %s is not of a message", f.Name))
}
