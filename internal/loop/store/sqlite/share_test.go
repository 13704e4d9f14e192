package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Readers of this process and of another one scan while a writer commits and
// prunes: each scan sees whole windows only.
func TestReadersBesideAWriter(t *testing.T) {
	s := newStore(t)
	other := openTest(t, s.Path(), Options{ReadOnly: true})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, r := range []*Store{s, other} {
		wg.Go(func() {
			for scans := 0; ; scans++ {
				select {
				case <-done:
					if scans == 0 {
						t.Error("no scan took place")
					}
					return
				default:
				}
				rows := map[int64]int{}
				err := r.Windows(bg, 0, 1<<40, func(w *record.Window) error { rows[w.Start]++; return nil })
				for start, n := range rows {
					if n != childRows {
						t.Errorf("window %d has %d rows", start, n)
					}
				}
				if err != nil {
					t.Errorf("scan beside a writer: %v", err)
					return
				}
			}
		})
	}
	commitBesideReaders(t, s)
	close(done)
	wg.Wait()
}

func commitBesideReaders(t *testing.T, s *Store) {
	t.Helper()
	for i := range 30 {
		start := first + int64(i)*300
		if err := s.CommitRound(bg, &Commit{Closed: true, Start: start, Rows: windowRows(start)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prune(bg, Before{Windows: start - 5*300}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			out, err := child(t, "", "read", s.Path()).Output()
			if want := fmt.Sprintf("rows %d\n", 6*childRows); err != nil || string(out) != want {
				t.Errorf("another process reads %q, %v; want %q", out, err, want)
			}
		}
	}
}

// A second process writes (an operator's "stop") while the first one holds its store.
func TestTwoWriters(t *testing.T) {
	s := newStore(t)
	second := openTest(t, s.Path(), opts)
	if err := second.SetSetting(bg, journal.SettingKilled, []byte("1")); err != nil {
		t.Fatal(err)
	}
	if v, ok, err := s.Setting(bg, journal.SettingKilled); string(v) != "1" || !ok || err != nil {
		t.Errorf("the first sees %q %v %v", v, ok, err)
	}
}

func TestLocked(t *testing.T) {
	s := newStore(t)
	second := openTest(t, s.Path(), opts)
	if _, err := second.write.Exec("PRAGMA busy_timeout = 20"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	err = second.SetSetting(bg, "k", []byte("v"))
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("write beside a writer that holds its lock: %v", err)
	}
}

// Open sniffs the header with a descriptor of its own. Under POSIX locks, to
// close that one frees this process's shared lock on the file, and another
// process may then believe itself alone.
func TestSniffKeepsLocks(t *testing.T) {
	s := newStore(t)
	if err := s.SetSetting(bg, "k", []byte("v")); err != nil { // every connection has its lock now
		t.Fatal(err)
	}
	probe, err := os.Open(s.Path()) // closed last: under POSIX locks that, too, would free them
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if !locked(t, probe) {
		t.Fatal("no lock on the file before the sniff")
	}
	if err := sniff(s.Path()); err != nil {
		t.Fatal(err)
	}
	if !locked(t, probe) {
		t.Error("the sniff freed the store's lock on the file")
	}
}

// locked asks the kernel whether another descriptor holds any lock on the file
// (F_OFD_GETLK, fcntl_locking(2)).
func locked(t *testing.T, probe *os.File) bool {
	t.Helper()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(probe.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		t.Fatal(err)
	}
	return lock.Type != unix.F_UNLCK
}
