package weblog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/goodput/accesslog"
)

// TestCostOfPoll: what a log costs a poll, whatever its server's user makes of it. What is no log costs little; what
// grows faster than it is read costs readBytes of lines, and says so. Measured: 1 ms; 0.01 to 0.5 s, 200 MB.
func TestCostOfPoll(t *testing.T) {
	const few, many, small, large = 50 * time.Millisecond, 5 * time.Second, 1 << 20, 1 << 30
	fill := func(text string) func(*metered) error {
		return func(x *metered) error {
			err := os.WriteFile(x.path, []byte(strings.Repeat(text, 2*readBytes/len(text))), 0o600)
			return errors.Join(err, os.Truncate(x.path, 8<<40))
		}
	}
	replace := func(with func(path string) error) func(*metered) error {
		return func(x *metered) error { return errors.Join(os.Rename(x.path, x.path+".1"), with(x.path)) }
	}
	const behind = "it grows faster than it is read"
	for name, c := range map[string]struct {
		do    func(*metered) error
		alarm string
		cpu   time.Duration
		bytes uint64
	}{
		"8 TiB of nothing": {func(x *metered) error { return os.Truncate(x.path, 8<<40) }, "zeros in it are skipped", few, small},
		"nothing between": {func(x *metered) error {
			x.write(t, "no line")
			return errors.Join(os.Truncate(x.path, 4<<40), os.WriteFile(x.path+".1", nil, 0o600))
		}, "zeros in it are skipped", few, small},
		"a FIFO":           {replace(func(p string) error { return unix.Mkfifo(p, 0o600) }), "not a plain file: a FIFO", few, small},
		"a device":         {replace(func(p string) error { return os.Symlink("/dev/zero", p) }), "not a plain file: a device", few, small},
		"a link to itself": {replace(func(p string) error { return os.Symlink(p, p) }), "too many levels of symbolic links", few, small},
		"one endless line": {fill("x"), behind, many, large},
		"empty lines":      {fill("\n"), behind, many, large},
		"bad lines":        {fill("{\"start_us\":" + strings.Repeat("9", 100<<10) + "\n"), behind, many, large},
		"good lines":       {fill(lineOf("203.0.113.7:4000", noon+310, 1e6, 300_000) + "\n"), behind, many, large},
		"zeros and lines":  {fill(strings.Repeat("\x00", 4095) + "\n"), behind, many, large},
	} {
		x := newMetered(t)
		if err := c.do(x); err != nil {
			t.Fatal(err)
		}
		cost, _ := costtest.Of(func() error { x.read(); return nil })
		told := strings.Join(x.alarms, "\n")
		if cost.CPU > c.cpu || cost.Bytes > c.bytes || !strings.Contains(told, c.alarm) || len(told) > 500 || x.log.Len() > 500 {
			t.Errorf("%s: %+v; %q, %q", name, cost, told, x.log.String())
		}
		t.Logf("%s: %+v", name, cost)
	}
}

// Several such logs together cost no more than one, and each is read in its turn.
func TestManyHostileLogs(t *testing.T) {
	x := newMetered(t)
	for i := range 3 {
		path := fmt.Sprint(x.path, i)
		tail := NewTail(path, accesslog.MaxLine)
		if _, err := tail.Read(nil); err != nil {
			t.Fatal(err)
		}
		x.tails = append(x.tails, tail)
		if err := os.WriteFile(path, []byte(strings.Repeat("x", 2*readBytes)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := int64(0)
	for range len(x.tails) {
		x.read()
	}
	for _, tail := range x.tails[1:] {
		if all += tail.now.offset; tail.now.offset == 0 {
			t.Errorf("%s is not read", tail.path)
		}
	}
	if most := int64(len(x.tails) * (readBytes + chunk)); all > most {
		t.Errorf("%d bytes of at most %d", all, most)
	}
}

// A stop ends a read between two chunks.
func TestStopEndsARead(t *testing.T) {
	x := newMetered(t)
	if err := os.WriteFile(x.path, []byte(strings.Repeat("x\n", readBytes/2)), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	close(stop)
	if err := x.Run(stop); err != nil || x.bad > 0 {
		t.Errorf("%d lines, %v", x.bad, err)
	}
}
