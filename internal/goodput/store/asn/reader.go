package asn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Reader looks up names of autonomous systems. It may be used by several goroutines.
type Reader struct{ db *maxminddb.Reader }

// Open opens a database: GeoLite2-ASN, dbip-asn-lite or any other with their fields.
func Open(path string) (*Reader, error) {
	b, err := read(path)
	if err != nil {
		return nil, err
	}
	db, err := maxminddb.OpenBytes(b)
	if err != nil {
		return nil, fmt.Errorf("open %s: not a database in mmdb format: %w", path, err)
	}
	r := &Reader{db: db}
	if !r.anyASN() {
		return nil, errors.Join(fmt.Errorf("open %s: a database of type %s without autonomous systems; use an ASN database", path, db.Metadata.DatabaseType), db.Close())
	}
	return r, nil
}

// maxFile of a database, in bytes. GeoLite2-ASN and dbip-asn-lite have 10 MB.
const maxFile = 64 << 20

// read copies the file: were it mapped, a copy over it in place would end the process by SIGBUS
// at the next look-up. It waits for no FIFO.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // it names the file
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a plain file")}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d MiB", maxFile>>20)}
	}
	return b, err
}

// Close frees the copy.
func (r *Reader) Close() error { return r.db.Close() }

// entry has the field names that all providers of such databases use.
type entry struct {
	Number uint32 `maxminddb:"autonomous_system_number"`
	Name   string `maxminddb:"autonomous_system_organization"`
}

// probed networks are looked at when a database is opened.
const probed = 1000

func (r *Reader) anyASN() bool {
	n := 0
	for res := range r.db.Networks() {
		var e entry
		if res.Decode(&e) == nil && e.Number != 0 {
			return true
		}
		if n++; n == probed {
			break
		}
	}
	return false
}

// Of names the autonomous system of a client network, as "AS64500 Example Cable"; ""
// where the database has none. A network that several systems share is the one's of
// its first address.
func (r *Reader) Of(p record.Prefix) string {
	if !p.Valid() {
		return ""
	}
	var e entry
	if err := r.db.Lookup(p.Netip().Addr()).Decode(&e); err != nil || e.Number == 0 {
		return ""
	}
	if e.Name == "" {
		return fmt.Sprintf("AS%d", e.Number)
	}
	return fmt.Sprintf("AS%d %s", e.Number, e.Name)
}
