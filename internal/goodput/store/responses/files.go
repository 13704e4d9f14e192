package responses

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/goodput"
)

// Dir is the folder of the files.
type Dir string

const (
	namePrefix = "goodput-"
	nameSuffix = ".jsonl"
	dayLayout  = "2006-01-02"
	day        = 24 * 3600
)

func (d Dir) file(unix int64) string {
	return filepath.Join(string(d), namePrefix+time.Unix(unix, 0).UTC().Format(dayLayout)+nameSuffix)
}

// Append adds a batch to its day's file, in one write that is on the disk when it returns.
// A crash in between leaves half a line at the end; the next Append begins a new one.
func (d Dir) Append(b goodput.Batch) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make folder of goodput: %w", err)
	}
	f, err := os.OpenFile(d.file(b.Window), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open goodput: %w", err)
	}
	text, err := appendBatch(torn(f), &b)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write goodput: %w", err)
	}
	return nil
}

// torn adds a newline where the file ends in the middle of a line.
func torn(f *os.File) []byte {
	size, err := f.Seek(0, io.SeekEnd)
	var last [1]byte
	if err != nil || size == 0 {
		return nil
	}
	if n, _ := f.ReadAt(last[:], size-1); n == 1 && last[0] != '\n' {
		return []byte("\n")
	}
	return nil
}

// lateDays is how long after its window a row may be stored: a response lasts two days at
// most.
const lateDays = 3

// maxLine of a file: a row has 64 values of 24 bytes at most, and its key.
const maxLine = 64 << 10

// Read returns the rows of windows in [from, to) and the ends of batches that were settled
// in it. Torn lines end too soon, as a crash leaves them; anything else that cannot be read
// is an error.
func (d Dir) Read(from, to int64, row func(*goodput.Row), settled func(*goodput.Batch)) (torn int, err error) {
	names, err := d.names()
	if err != nil {
		return 0, err
	}
	first, last := filepath.Base(d.file(from)), filepath.Base(d.file(to+lateDays*day))
	for _, name := range names {
		if name < first || name > last {
			continue
		}
		n, err := readFile(filepath.Join(string(d), name), func(r *goodput.Row, b *goodput.Batch) {
			switch {
			case r != nil && r.Window >= from && r.Window < to:
				row(r)
			case b != nil && b.Window >= from && b.Window < to:
				settled(b)
			}
		})
		if torn += n; err != nil {
			return torn, err
		}
	}
	return torn, nil
}

func (d Dir) names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no access log was ever followed
	} else if err != nil {
		return nil, fmt.Errorf("list goodput: %w", err)
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, namePrefix) && strings.HasSuffix(n, nameSuffix) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, nil
}

func readFile(path string, fn func(*goodput.Row, *goodput.Batch)) (torn int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // pruned since it was listed
	} else if err != nil {
		return 0, fmt.Errorf("read goodput: %w", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxLine)
	for n := 1; sc.Scan(); n++ {
		r, b, err := parseLine(sc.Bytes())
		switch {
		case err == nil:
			fn(r, b)
		case errors.Is(err, io.ErrUnexpectedEOF):
			torn++
		default:
			return torn, fmt.Errorf("read goodput: %s, line %d: %w", path, n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return torn, fmt.Errorf("read goodput %s: %w", path, err)
	}
	return torn, nil
}

// Prune deletes the oldest file, if its day ended before unix: one a call, so that a clock
// that is wrong for a moment costs no more.
func (d Dir) Prune(unix int64) error {
	names, err := d.names()
	if err != nil {
		return err
	}
	if len(names) == 0 || names[0] >= filepath.Base(d.file(unix)) {
		return nil
	}
	return os.Remove(filepath.Join(string(d), names[0]))
}
