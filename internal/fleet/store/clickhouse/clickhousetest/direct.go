package clickhousetest

import (
	"reflect"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
)

// Direct takes the records out of a table and returns the time in which clickhouse-go alone inserts them again, column
// by column, so many at once, when all columns are made already: what another way into the server is compared with.
func (s *Server) Direct(table, order string, rows int) time.Duration {
	s.tb.Helper()
	o, err := driver.ParseDSN(s.Address())
	check(s.tb, err)
	conn, err := driver.Open(o)
	check(s.tb, err)
	defer conn.Close()
	var list string
	check(s.tb, conn.QueryRow(s.tb.Context(), "SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns WHERE database = 'congctl' AND table = ? AND default_kind = ''", table).Scan(&list))
	blocks := s.columns(conn, "SELECT "+list+" FROM "+table+" ORDER BY "+order, rows)
	check(s.tb, conn.Exec(s.tb.Context(), "TRUNCATE TABLE "+table))
	start := time.Now()
	for _, columns := range blocks {
		b, err := conn.PrepareBatch(s.tb.Context(), "INSERT INTO "+table+" ("+list+")")
		check(s.tb, err)
		for i, c := range columns {
			check(s.tb, b.Column(i).Append(c.Interface()))
		}
		check(s.tb, b.Send())
	}
	return time.Since(start)
}

// columns are an answer's, as slices of so many rows.
func (s *Server) columns(conn driver.Conn, sql string, most int) (blocks [][]reflect.Value) {
	s.tb.Helper()
	rows, err := conn.Query(s.tb.Context(), sql)
	check(s.tb, err)
	defer rows.Close()
	var row []any
	for _, c := range rows.ColumnTypes() {
		row = append(row, reflect.New(c.ScanType()).Interface())
	}
	for n := 0; rows.Next(); n++ {
		check(s.tb, rows.Scan(row...))
		if n%most == 0 {
			blocks = append(blocks, make([]reflect.Value, len(row)))
		}
		block := blocks[len(blocks)-1]
		for i, v := range row {
			value := reflect.ValueOf(v).Elem()
			if n%most == 0 {
				block[i] = reflect.MakeSlice(reflect.SliceOf(value.Type()), 0, most)
			}
			block[i] = reflect.Append(block[i], value)
		}
	}
	check(s.tb, rows.Err())
	return blocks
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
