package sqlite

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The test binary runs itself again as a child in one of these roles, because
// kill -9, a file-size limit and another user's rights belong to a process.
const (
	roleVar     = "CONGCTL_STORE_TEST_ROLE"
	pathVar     = "CONGCTL_STORE_TEST_PATH"
	childRows   = 200
	keepWindows = 40
)

func TestMain(m *testing.M) {
	useOFDLocks() // too late once a test has opened a file by itself, and their order is random
	roles := map[string]func(string) error{"commit": commitForEver, "full": commitUntilFull, "read": readOnce, "write": writeOnce}
	role, ok := roles[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(os.Getenv(pathVar)); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func child(t testing.TB, exe, role, path string) *exec.Cmd {
	t.Helper()
	if exe == "" {
		exe, _ = os.Executable()
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVar+"="+role, pathVar+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// windowRows are the rows of a window as every process makes them, so that a
// reader can tell right ones from wrong ones.
func windowRows(start int64) []record.Window {
	return someWindows(rand.New(rand.NewPCG(uint64(start), 7)), start, childRows)
}

// commitForEver commits window after window from where the store ends, says
// each start once its commit has returned, and prunes now and then.
func commitForEver(path string) error {
	s, err := Open(bg, path, opts)
	if err != nil {
		return err
	}
	last, ok, err := s.LastWindow(bg)
	if !ok {
		last = first - 300
	}
	fmt.Println("open")
	for err == nil {
		last += 300
		c := sampleCommit(rand.New(rand.NewPCG(1, 1)), int(last-first)/300, 0)
		c.Rows = windowRows(last)
		if err = s.CommitRound(bg, c); err == nil {
			fmt.Println(last)
		}
		if err == nil && last/300%7 == 0 {
			err = s.Prune(bg, Before{Windows: last - keepWindows*300, Events: last - keepWindows*300})
		}
	}
	return err
}

// commitUntilFull meets a limit on the size of each file and says how that ended.
func commitUntilFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ) // the kernel then gives EFBIG
	limit := syscall.Rlimit{Cur: 300_000, Max: 300_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err := commitForEver(path)
	if !errors.Is(err, ErrFull) {
		return fmt.Errorf("want ErrFull: %w", err)
	}
	fmt.Println("full:", err)
	return nil
}

func readOnce(path string) error {
	s, err := Open(bg, path, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	n := 0
	err = s.Windows(bg, 0, math.MaxInt64, func(*record.Window) error { n++; return nil })
	fmt.Println("rows", n)
	return errors.Join(err, s.Close())
}

// writeOnce tries a write and does not wait for a lock.
func writeOnce(path string) error {
	s, err := Open(bg, path, opts)
	if err != nil {
		return err
	}
	_, err = s.write.Exec("PRAGMA busy_timeout = 20")
	return errors.Join(err, s.SetSetting(bg, "k", []byte("v")), s.Close())
}
