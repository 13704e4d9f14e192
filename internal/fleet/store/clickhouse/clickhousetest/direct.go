package clickhousetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Direct is the time that clickhouse-go takes to insert the records of batches into table conns, so many at once, when
// their columns are made already: what another way into the server is compared with. It shares nothing with the store.
func (s *Server) Direct(batches [][]byte, rows int) time.Duration {
	s.tb.Helper()
	o, err := driver.ParseDSN(s.Address())
	check(s.tb, err)
	conn, err := driver.Open(o)
	check(s.tb, err)
	defer conn.Close()
	blocks := []*columns{newColumns()}
	for _, b := range batches {
		c := blocks[len(blocks)-1]
		if c.rows >= rows {
			c = newColumns()
			blocks = append(blocks, c)
		}
		inBatch := uint32(0)
		check(s.tb, wire.DecodeBatch(b, func(h *wire.Header, r *record.Conn) error {
			c.add(h, inBatch, r)
			inBatch++
			return nil
		}))
	}
	start := time.Now()
	for _, c := range blocks {
		s.insert(conn, c)
	}
	return time.Since(start)
}

func (s *Server) insert(conn driver.Conn, c *columns) {
	b, err := conn.PrepareBatch(s.tb.Context(), "INSERT INTO conns ("+strings.Join(c.names, ", ")+")")
	check(s.tb, err)
	for i, v := range c.values {
		check(s.tb, b.Column(i).Append(v.Interface()))
	}
	check(s.tb, b.Send())
}

// columns are slices of what clickhouse-go takes: the record's name and texts, then its scalars.
type columns struct {
	names  []string
	values []reflect.Value
	fields []wire.Field
	rows   int
}

// texts are what columns have before the scalars.
var texts = []string{"pop", "host", "boot_id", "cong", "local", "remote"}

func newColumns() *columns {
	c := &columns{fields: wire.Fields()}
	c.names = append(c.names, texts...)
	for range texts {
		c.values = append(c.values, reflect.ValueOf([]string(nil)))
	}
	c.names = append(c.names, "sequence", "in_batch", "prefix", "local_port", "remote_port")
	for _, list := range []any{[]uint64(nil), []uint32(nil), []uint64(nil), []uint16(nil), []uint16(nil)} {
		c.values = append(c.values, reflect.ValueOf(list))
	}
	conn := reflect.ValueOf(record.Conn{})
	for _, f := range c.fields {
		c.names = append(c.names, f.Name)
		c.values = append(c.values, reflect.MakeSlice(reflect.SliceOf(plain(conn.FieldByIndex(f.Index))), 0, 0))
	}
	return c
}

// plain is the type that ClickHouse has of a field's.
func plain(v reflect.Value) reflect.Type {
	switch v.Kind() {
	case reflect.Bool, reflect.Uint8:
		return reflect.TypeFor[uint8]()
	case reflect.Int, reflect.Int64:
		return reflect.TypeFor[int64]()
	case reflect.Uint16:
		return reflect.TypeFor[uint16]()
	case reflect.Uint32:
		return reflect.TypeFor[uint32]()
	case reflect.Uint64:
		return reflect.TypeFor[uint64]()
	}
	return v.Type()
}

func (c *columns) add(h *wire.Header, inBatch uint32, r *record.Conn) {
	row := []any{h.PoP, h.Host, string(h.Boot[:]), r.Cong, string(r.Local.Addr().AsSlice()), string(r.Remote.Addr().AsSlice()),
		h.Sequence, inBatch, uint64(r.Prefix), r.Local.Port(), r.Remote.Port()}
	for i, v := range row {
		c.values[i] = reflect.Append(c.values[i], reflect.ValueOf(v))
	}
	conn := reflect.ValueOf(r).Elem()
	for i, f := range c.fields {
		v, at := conn.FieldByIndex(f.Index), len(row)+i
		if v.Kind() == reflect.Bool {
			digit := uint8(0)
			if v.Bool() {
				digit = 1
			}
			v = reflect.ValueOf(digit)
		}
		c.values[at] = reflect.Append(c.values[at], v.Convert(c.values[at].Type().Elem()))
	}
	c.rows++
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
