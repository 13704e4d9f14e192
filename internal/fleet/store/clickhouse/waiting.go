package clickhouse

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	native "github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// waiting is rows that wait for a table, as its columns. The last few are whole still: columns take
// them together, since row after row a record would cost 125 calls.
type waiting[R any] struct {
	table   string
	columns []column
	model   *R // whose fields the columns name
	whole   []R
	count   int                // without the whole ones
	sent    []native.Interface // clickhouse-go's columns of the last insert
}

// wholeRows are at most as many as a processor's cache holds: a row is a kilobyte.
const wholeRows = 128

func newWaiting[R any](table string, columnsOf func(*R) []column) waiting[R] {
	model := new(R)
	return waiting[R]{table: table, columns: columnsOf(model), model: model, whole: make([]R, 0, wholeRows)}
}

func (w *waiting[R]) rows() int { return w.count + len(w.whole) }

// next returns room for one more row.
func (w *waiting[R]) next() *R {
	if len(w.whole) == wholeRows {
		w.split()
	}
	w.whole = w.whole[:len(w.whole)+1]
	return &w.whole[len(w.whole)-1]
}

// split makes columns of the whole rows.
func (w *waiting[R]) split() {
	r := rows{unsafe.Pointer(w.model), unsafe.Pointer(unsafe.SliceData(w.whole)), unsafe.Sizeof(*w.model), len(w.whole)}
	for _, c := range w.columns {
		c.keep(r)
	}
	w.count += len(w.whole)
	w.whole = w.whole[:0]
}

// cut forgets all but the first rows.
func (w *waiting[R]) cut(rows int) {
	w.split()
	for _, c := range w.columns {
		c.cut(rows)
	}
	w.count = rows
}

// insert inserts them all, and keeps them.
func (w *waiting[R]) insert(ctx context.Context, to driver.Conn) error {
	w.split()
	if w.count == 0 {
		return nil
	}
	b, err := to.PrepareBatch(ctx, "INSERT INTO "+w.table+" ("+names(w.columns)+")")
	if err != nil {
		return fmt.Errorf("insert into %s: %w", w.table, err)
	}
	defer b.Close()
	w.reuse(b.Columns())
	for i, c := range w.columns {
		if err := b.Column(i).Append(c.values()); err != nil {
			return fmt.Errorf("insert into %s: column %s: %w", w.table, c.name(), err)
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", w.table, err)
	}
	return nil
}

// reuse gives the columns of an insert the memory of the last one's: from nothing a column grows some twenty
// times, and each time copies all that it has.
func (w *waiting[R]) reuse(columns []native.Interface) {
	for i, last := range w.sent {
		if c := columns[i]; c.Type() == last.Type() {
			last.Reset()
			reflect.ValueOf(c).Elem().Set(reflect.ValueOf(last).Elem())
		}
	}
	w.sent = columns
}

// names lists columns for a statement.
func names(columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, "`"+c.name()+"`")
	}
	return strings.Join(list, ", ")
}
