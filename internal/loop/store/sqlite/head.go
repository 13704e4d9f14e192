package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// SQLite reads a log up to its first damaged frame and takes what follows for commits that
// never were. So the store counts its commits as a chain, and a file beside it has the last:
//
//	link n = (n, SHA-256(link n-1, commit n without its rows), time of commit n)
//
// The link is in the transaction, the file follows it. A file that is ahead of the store
// therefore proves commits that are gone; one behind means a crash between the two.

// settingChain has the last link of the store.
const settingChain = "chain"

type link struct {
	n    int64
	hash [sha256.Size]byte
	at   int64 // Unix seconds
}

const linkFormat = "%020d %064x %020d"

func (l link) String() string { return fmt.Sprintf(linkFormat, l.n, l.hash[:], l.at) }

func parseLink(text []byte) (l link, ok bool) {
	var hash []byte
	n, err := fmt.Sscanf(string(text), "%d %x %d", &l.n, &hash, &l.at)
	ok = err == nil && n == 3 && copy(l.hash[:], hash) == len(l.hash)
	return l, ok && l.String() == string(text)
}

// next is the link of a commit.
func (l link) next(c *Commit) (link, error) {
	rest := *c
	rest.Rows = nil // each has a sum of its own
	body, err := json.Marshal(struct {
		Before string
		Rows   int
		Rest   Commit
	}{l.String(), len(c.Rows), rest})
	if err != nil {
		return l, fmt.Errorf("chain commit: %w", err)
	}
	n := link{n: l.n + 1, hash: sha256.Sum256(body), at: l.at}
	switch {
	case c.Round != nil:
		n.at = c.Round.RoundStart
	case len(c.Events) > 0:
		n.at = c.Events[len(c.Events)-1].At
	}
	return n, nil
}

func chainOf(ctx context.Context, c conn) (l link, err error) {
	err = each(ctx, c, "settings", "WHERE key = ?", []any{settingChain}, func(r []any) error {
		l, _ = parseLink(r[1].([]byte))
		return nil
	})
	return l, err
}

func putLink(ctx context.Context, tx conn, c *Commit) (l link, err error) {
	if l, err = chainOf(ctx, tx); err != nil {
		return l, err
	}
	if l, err = l.next(c); err != nil {
		return l, err
	}
	return l, putSetting(ctx, tx, settingChain, []byte(l.String()))
}

// Missing are commits that the store had and has no longer.
type Missing struct {
	Commits      int64 // 0: none, or as many, and others
	Since, Until int64 // Unix seconds: the last commit that is there, the last that was
	Rounds       int64 // of windows from Since to Until that the store has
	Unproven     bool  // the file beside the store is gone or damaged: whether any is missing is not known
}

// String is "" where none are missing.
func (m Missing) String() string {
	if m == (Missing{}) {
		return ""
	}
	stamp := func(at int64) string {
		if at == 0 {
			return "its beginning"
		}
		return time.Unix(at, 0).UTC().Format(time.RFC3339)
	}
	if m.Unproven {
		return fmt.Sprintf("commits after %s may be missing from the store: the file that would tell, its -head, is gone or damaged, as in a copy without it", stamp(m.Since))
	}
	if m.Rounds > 0 {
		return fmt.Sprintf("%d rounds of windows from %s to %s are missing from the store: it was damaged or changed by hand", m.Rounds, stamp(m.Since), stamp(m.Until))
	}
	return fmt.Sprintf("%d commits (rounds and events) after %s, up to %s, are missing from the store: it or its log was damaged or deleted, or another copy was put in its place",
		m.Commits, stamp(m.Since), stamp(m.Until))
}

// Missing returns what was found missing when the store was opened for writing.
func (s *Store) Missing() Missing { return s.missing }

// openHead compares the store with the file beside it, which it makes where there is none.
func (s *Store) openHead(ctx context.Context, at time.Time) error {
	has, err := chainOf(ctx, s.write)
	if err != nil {
		return explain(s.path, "read chain", err)
	}
	if s.head, err = os.OpenFile(s.path+"-head", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(s.head, 4096))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.head.Name(), err)
	}
	was, ok := parseLink(text)
	if s.missing, err = s.lostRounds(ctx); err != nil {
		return explain(s.path, "count rounds", err)
	}
	switch {
	case !ok && has.n > 0: // a copy without it, or a damaged log whose head is lost, too
		s.missing = Missing{Unproven: true, Since: has.at}
		return nil // told by whoever opened it: a copy that is only looked at stays as it is
	case ok && (was.n > has.n || was.n == has.n && was.hash != has.hash):
		s.missing = Missing{Commits: was.n - has.n, Since: has.at, Until: was.at}
	}
	if s.missing != (Missing{}) {
		// Whoever opens it first tells all who read it later. On a full disk the next one does.
		_ = s.CommitRound(ctx, &Commit{Events: []Event{{At: at.Unix(), Kind: "missing", Text: s.missing.String()}}})
	}
	return nil
}

// lostRounds looks for closed windows without their round, which came in one commit, between
// those that have theirs: the chain proves only the end.
func (s *Store) lostRounds(ctx context.Context) (m Missing, err error) {
	err = s.write.QueryRowContext(ctx, `SELECT count(*), coalesce(min(start), 0), coalesce(max(start), 0) FROM window_heads
		WHERE rows > 0 AND start > (SELECT min(window) FROM rounds) AND start < (SELECT max(window) FROM rounds) AND start NOT IN (SELECT window FROM rounds)`).Scan(&m.Rounds, &m.Since, &m.Until)
	return m, err
}

// follow writes the last link beside the store, in place, so that it needs no room. Where
// that fails, less is known of a later loss; the commit itself is on disk.
func (s *Store) follow(l link) {
	if s.head == nil {
		return
	}
	_, err := s.head.WriteAt([]byte(l.String()), 0)
	if err == nil {
		_ = s.head.Sync()
	}
}

func (s *Store) closeHead() error {
	if s.head == nil {
		return nil
	}
	return s.head.Close()
}
