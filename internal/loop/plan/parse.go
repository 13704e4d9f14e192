package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The reader is strict: it accepts a line only if writing its value again gives the same bytes. So
// a file has one spelling, its hash is the plan's identity, and a lenient reader cannot be used to
// sign one thing and show another.

const (
	// MaxFileBytes bounds what is read: 25,000 entries with the longest reasons, 50 times the default cap.
	MaxFileBytes = 8 << 20
	// headBytes and entryBytes are above what a file's head and end, and its longest entry, have.
	headBytes, entryBytes = 8 << 10, 256
	// maxLineBytes is above what any line has: a few hundred bytes. Where a newline is missing no more is read, compared and
	// hashed: 8 MiB take a small device half a second.
	maxLineBytes = 4 << 10
	// maxParseErrors is enough to see the pattern; a foreign file would have one per line.
	maxParseErrors = 20
)

var (
	errCut       = errors.New("the file ends here: it is truncated")
	errNoNewline = errors.New("no newline at the end: the file is truncated")
)

// BytesFor returns the most that a plan of so many entries has.
func BytesFor(entries int) int {
	return min(headBytes+min(entries, MaxFileBytes/entryBytes)*entryBytes, MaxFileBytes)
}

// Parse reads a plan file, signed or not, and checks its hash. It returns a plan or an error, never
// both; sig is nil for an unsigned file. The error joins a *LineError for each bad line, up to 20.
// Parse does not check the signature: see Open.
func Parse(b []byte) (p *Plan, sig *Signature, err error) {
	if len(b) > MaxFileBytes {
		return nil, nil, &LineError{1, "file", fmt.Errorf("%d bytes; at most %d", len(b), MaxFileBytes)}
	}
	if first := b[:min(len(b), maxLineBytes)]; bytes.IndexByte(first, '\n') < 0 {
		return nil, nil, &LineError{1, "file", errNoNewline} // before a copy is made of what is no plan
	}
	r := &reader{text: string(b), bad: refusals{most: maxParseErrors}}
	p = &Plan{}
	if r.header(p) && r.entries(p) {
		sig = r.trailer()
	}
	if err := r.bad.err(); err != nil {
		return nil, nil, err
	}
	return p, sig, nil
}

type reader struct {
	text string
	off  int // of the next line
	line int // number of the last line read
	bad  refusals
}

// next returns a line without its newline; ok is false at the end of the file.
func (r *reader) next() (s string, ok bool) {
	r.line++
	if r.off == len(r.text) {
		r.bad.add(r.line, "file", errCut)
		return "", false
	}
	rest := r.text[r.off:]
	n := strings.IndexByte(rest[:min(len(rest), maxLineBytes)], '\n')
	if n < 0 && len(rest) > maxLineBytes {
		r.bad.addf(r.line, "file", "no newline within %d bytes: this is no line of a plan", maxLineBytes)
		return "", false
	}
	if n < 0 {
		r.bad.add(r.line, "file", errNoNewline)
		return "", false
	}
	s = r.text[r.off : r.off+n]
	r.off += n + 1
	if strings.HasSuffix(s, "\r") {
		r.bad.addf(r.line, "file", "carriage return; lines end in a newline alone")
		return "", false
	}
	return s, true
}

// named returns the value of a line that must start with name; false stops the reading.
func (r *reader) named(name string) (value string, ok bool) {
	s, ok := r.next()
	if !ok {
		return "", false
	}
	value, ok = strings.CutPrefix(s, name+" ")
	if !ok {
		r.bad.addf(r.line, name, "%s; want \"%s <value>\" here", quote(s), name)
	}
	return value, ok
}

func (r *reader) header(p *Plan) bool {
	v, ok := r.named(magic)
	if !ok {
		return false
	}
	if !slices.Contains(formats, v) {
		r.bad.addf(r.line, magic, "%s: unknown format; this congctl reads %s", quote(v), strings.Join(formats, " and "))
		return false
	}
	for _, f := range headerOf(v) {
		v, ok := r.named(f.name)
		if !ok {
			return false
		}
		r.value(p, f, v)
	}
	if len(r.bad.errs) == 0 {
		if e, ok := errors.AsType[*LineError](checkHeader(p)); ok {
			r.bad.add(e.Line, e.Field, e.Err)
		}
	}
	return true
}

func (r *reader) value(p *Plan, f field, v string) {
	if err := f.read(p, v); err != nil {
		r.bad.add(r.line, f.name, err)
		return
	}
	if err := f.check(p); err != nil {
		r.bad.add(r.line, f.name, err)
		return
	}
	if w := f.write(nil, p); string(w) != v {
		r.bad.addf(r.line, f.name, "%s: write %s", quote(v), w)
	}
}

func (r *reader) entries(p *Plan) bool {
	v, ok := r.named("entries")
	if !ok {
		return false
	}
	want, err := strconv.ParseUint(v, 10, 32)
	if err != nil || strconv.FormatUint(want, 10) != v {
		r.bad.addf(r.line, "entries", "%s: not a whole number", quote(v))
	}
	countLine, countOK := r.line, err == nil
	v, ok = r.named(columnsName)
	if !ok {
		return false
	}
	if v != columns {
		r.bad.addf(r.line, columnsName, "%s: want %q", quote(v), columns)
	}
	got := r.treats(p, want)
	if r.full() {
		r.bad.stopped = r.line
		return false
	}
	if countOK && uint64(got) != want {
		r.bad.addf(countLine, "entries", "%d, but %d \"treat\" lines follow", want, got)
	}
	return true
}

// full reports whether there are enough refusals: a file that is wrong as a whole would have one
// per line, each with its text.
func (r *reader) full() bool { return len(r.bad.errs) >= r.bad.most }

// treats reads entries up to the first line of another kind, and counts them. It makes room for as
// many as the file both claims and has: the lines alone can be 8 MiB of "treat ", ten times that as
// entries.
func (r *reader) treats(p *Plan, said uint64) (n int) {
	has := strings.Count(r.text, "\n"+treat+" ")
	p.Entries = make([]Entry, 0, min(said, uint64(has)))
	var last record.Prefix
	lastLine := 0
	var buf []byte
	for !r.full() && strings.HasPrefix(r.text[r.off:], treat+" ") {
		s, ok := r.next()
		if !ok {
			return n
		}
		n++
		e, field, err := parseEntry(s)
		if err != nil {
			r.bad.add(r.line, field, err)
			continue
		}
		if buf = appendEntry(buf[:0], e); string(buf) != s {
			r.bad.addf(r.line, treat, "%s: write %s", quote(s), buf)
		}
		if err := e.checkState(p); err != nil {
			r.bad.add(r.line, "state", err)
		}
		switch {
		case lastLine > 0 && e.Prefix == last:
			r.bad.addf(r.line, "prefix", "%s: duplicate of line %d", e.Prefix, lastLine)
		case lastLine > 0 && e.Prefix < last:
			r.bad.addf(r.line, "prefix", "%s: must stand before %s of line %d (IPv4 first, then by address)", e.Prefix, last, lastLine)
		}
		last, lastLine = e.Prefix, r.line
		p.Entries = append(p.Entries, e)
	}
	return n
}

// trailer reads the hash line and the signature, if there is one.
func (r *reader) trailer() *Signature {
	body := r.text[:r.off]
	s, ok := r.next()
	if !ok {
		return nil
	}
	sum, ok := strings.CutPrefix(s, hashPrefix)
	if !ok {
		r.bad.addf(r.line, "hash", "%s; want a \"treat\" line or \"%s<64 hex digits>\" here", quote(s), hashPrefix)
		return nil
	}
	if want := hashOf([]byte(body)); sum != want {
		r.bad.addf(r.line, "hash", "%s; the lines above have %s: the file was changed after it was written", quote(sum), want)
	}
	if r.off == len(r.text) {
		return nil
	}
	if s, ok = r.next(); !ok {
		return nil
	}
	sig, err := parseSignature(s)
	if err != nil {
		r.bad.add(r.line, "signature", err)
	}
	if r.off != len(r.text) {
		r.bad.addf(r.line+1, "file", "text after the signature")
	}
	return sig
}

// quote shows a piece of a foreign file without flooding the terminal: at most maxQuoted of its bytes.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

const maxQuoted = 160 // bytes: an entry with the longest reason, but for its last word

// LineError is one refusal: the line of the file, from 1, what is wrong in it, and why.
type LineError struct {
	Line  int
	Field string // a header name, a column, "hash", "signature" or "file"
	Err   error
}

// Error returns at most maxErrorText bytes.
func (e *LineError) Error() string {
	s := fmt.Sprintf("line %d: %s: %v", e.Line, e.Field, e.Err)
	if len(s) > maxErrorText {
		return strings.ToValidUTF8(s[:maxErrorText-3], "") + "..."
	}
	return s
}

const maxErrorText = 400 // bytes: a line of the log has 500. A byte that no terminal shows is four of them

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// refusals collects errors; it keeps at most `most` (0: all) and counts the rest.
type refusals struct {
	most    int
	errs    []*LineError
	dropped int
	stopped int // line at which reading stopped, 0: it did not
}

func (r *refusals) add(line int, field string, err error) {
	switch {
	case err == nil:
	case r.most > 0 && len(r.errs) >= r.most:
		r.dropped++
	default:
		r.errs = append(r.errs, &LineError{line, field, err})
	}
}

func (r *refusals) addf(line int, field, format string, args ...any) {
	r.add(line, field, fmt.Errorf(format, args...))
}

// err joins them in the order of the lines; nil without any.
func (r *refusals) err() error {
	slices.SortStableFunc(r.errs, func(a, b *LineError) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for _, e := range r.errs {
		all = append(all, e)
	}
	if r.stopped > 0 {
		all = append(all, fmt.Errorf("reading stopped at line %d: there may be more", r.stopped))
	} else if r.dropped > 0 {
		all = append(all, fmt.Errorf("and %d more", r.dropped))
	}
	return errors.Join(all...)
}
