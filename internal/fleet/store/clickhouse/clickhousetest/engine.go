package clickhousetest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// engine is a current ClickHouse without a server: the library of tools/chdb.sh in a process of its
// own, and beside it HTTP, as clickhouse-go speaks it. It answers one statement after the other.
//
// Statements, inserted rows and answers go through unchanged, in the format Native. What is not
// ClickHouse's is the connection: no native protocol, no compression, no restart, no second client.
type engine struct {
	tb  testing.TB
	dir string

	mu  sync.Mutex // guards all below
	in  io.Writer
	out io.Reader
}

// StartEngine starts an engine that ends with the test and returns its URL, for clickhouse.Open.
// CONGCTL_CHDB_CACHE is a folder that tools/chdb.sh filled.
func StartEngine(tb testing.TB) (address string) {
	tb.Helper()
	cache := os.Getenv("CONGCTL_CHDB_CACHE")
	if cache == "" {
		tb.Skip("needs a current ClickHouse: CONGCTL_CHDB_CACHE names a folder that tools/chdb.sh has filled; any kernel")
	}
	e := &engine{tb: tb, dir: tb.TempDir()}
	cmd := exec.Command(filepath.Join(cache, "chdb"), filepath.Join(cache, "package", "libchdb.so"), filepath.Join(e.dir, "data"))
	cmd.Stderr = tb.Output()
	in, err := cmd.StdinPipe()
	if err == nil {
		e.out, err = cmd.StdoutPipe()
	}
	if err == nil {
		e.in, err = in, cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewServer(e)
	tb.Cleanup(func() { s.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return s.URL + "/congctl"
}

// ServeHTTP answers a statement. A query is the body; the rows of an insert are, and its statement is a parameter.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	sql := string(body)
	if insert := r.URL.Query().Get("query"); insert != "" && err == nil {
		file := filepath.Join(e.dir, "rows")
		err = os.WriteFile(file, body, 0o600)
		sql = strings.TrimSuffix(strings.TrimSpace(insert), "FORMAT Native") + fmt.Sprintf(" SELECT * FROM file('%s', 'Native')", file)
	}
	if err == nil {
		_, err = e.ask("USE `" + r.URL.Query().Get("database") + "`")
	}
	var answer []byte
	if err == nil {
		answer, err = e.ask(sql)
	}
	if err != nil {
		w.Header().Set("X-ClickHouse-Exception-Code", "1")
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if strings.Contains(sql, "revision()") {
		answer = hello()
	}
	_, _ = w.Write(answer)
}

// ask has the engine run a statement.
func (e *engine) ask(sql string) ([]byte, error) {
	_, err := e.in.Write(append(binary.NativeEndian.AppendUint64(nil, uint64(len(sql))), sql...))
	head := make([]byte, 9)
	if err == nil {
		_, err = io.ReadFull(e.out, head)
	}
	if err != nil {
		return nil, fmt.Errorf("ask engine: %w", err)
	}
	body := make([]byte, binary.NativeEndian.Uint64(head[1:]))
	if _, err := io.ReadFull(e.out, body); err != nil {
		return nil, fmt.Errorf("ask engine: %w", err)
	}
	if head[0] != 0 {
		return nil, fmt.Errorf("%s", body)
	}
	return body, nil
}

// hello says that the engine writes blocks of revision 0, as the library does: a block of the client's
// own revision with name, version, revision and time zone.
func hello() []byte {
	b := []byte{1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 4, 1} // a block's information, columns, rows
	for _, c := range [][3]string{{"displayName()", "String", "\x04chdb"}, {"version()", "String", "\x0426.5"}, {"revision()", "UInt32", "\x00\x00\x00\x00"}, {"timezone()", "String", "\x03UTC"}} {
		for _, text := range c[:2] {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
		b = append(append(b, 0), c[2]...) // 0: no serialization of its own
	}
	return b
}
