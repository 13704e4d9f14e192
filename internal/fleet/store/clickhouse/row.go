package clickhouse

import (
	"reflect"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// row is one row of table conns.
type row struct {
	name    batchName
	inBatch uint32
	conn    record.Conn
}

// batchName names a batch, first in both tables.
type batchName struct {
	pop, host, boot string
	sequence        uint64
}

func (n *batchName) columns() []column {
	return []column{
		plain("pop", "String", &n.pop, true), plain("host", "String", &n.host, true),
		plain("boot_id", "FixedString(16)", &n.boot, false), plain("sequence", "UInt64", &n.sequence, false),
	}
}

// endRow is one row of table window_ends.
type endRow struct {
	name batchName
	end  wire.WindowEnd
}

// columns point into the row: read, each fills it; written, it is the model of the rows that each
// keeps its values of.
func (r *endRow) columns() []column {
	return append(r.name.columns(), plain("start", "Int64", &r.end.Start, false), plain("unknown", "String", &r.end.Unknown, false),
		plain("starved", "String", &r.end.Starved, false), plain("default_congs", "Array(String)", &r.end.DefaultCongs, false))
}

// column is a column of the table and the values of it that wait for an insert.
type column interface {
	name() string
	kind() string // ClickHouse's type
	few() bool    // has few different values
	keep(rows)    // adds the values of some rows
	cut(rows int) // forgets all but the first rows
	values() any  // as clickhouse-go appends them
	into() any    // as clickhouse-go scans a value
	take() error  // puts the scanned value into the row
}

// columns are those that name the record, then the record's.
func (r *row) columns() []column {
	list := append(r.name.columns(), plain("in_batch", "UInt32", &r.inBatch, false))
	conn := reflect.ValueOf(&r.conn).Elem()
	for _, f := range wire.Fields() {
		list = append(list, scalar(f.Name, conn.FieldByIndex(f.Index)))
	}
	list = append(list, plain("prefix", "UInt64", (*uint64)(&r.conn.Prefix), false), plain("cong", "String", &r.conn.Cong, true))
	list = append(list, addressColumns("local", &r.conn.Local, true)...)
	list = append(list, addressColumns("remote", &r.conn.Remote, false)...)
	return list
}

// scalar is the column of a field of a record.
func scalar(name string, v reflect.Value) column {
	at := v.Addr()
	switch v.Kind() {
	case reflect.Bool:
		return &converted[bool, uint8]{direct: plain(name, "UInt8", new(uint8), false), row: at.Interface().(*bool), to: digit, from: isSet}
	case reflect.Uint8:
		return plain(name, "UInt8", pointer[uint8](at), false)
	case reflect.Uint16:
		return plain(name, "UInt16", pointer[uint16](at), false)
	case reflect.Uint32:
		return plain(name, "UInt32", pointer[uint32](at), false)
	case reflect.Uint64:
		return plain(name, "UInt64", pointer[uint64](at), false)
	case reflect.Int64:
		return plain(name, "Int64", pointer[int64](at), false)
	case reflect.Int:
		return &converted[int, int64]{direct: plain(name, "Int64", new(int64), false), row: at.Interface().(*int), to: toInt64, from: toInt}
	case reflect.Float64:
		return plain(name, "Float64", pointer[float64](at), false)
	}
	panic("field " + name + " of a record has a type without a column: " + v.Type().String())
}

// pointer makes of a pointer to a named type, as record.Arm is, one to what it is named for.
func pointer[T any](at reflect.Value) *T {
	return at.Convert(reflect.TypeFor[*T]()).Interface().(*T)
}

func digit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func isSet(v uint8) (bool, error) { return v != 0, nil }
func toInt64(v int) int64         { return int64(v) }
func toInt(v int64) (int, error)  { return int(v), nil }
