package batchlog

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The tests' binary is also the child that is killed, or that fills a disk.
const childVar, dirVar = "BATCHLOG_CHILD", "BATCHLOG_DIR"

func TestMain(m *testing.M) {
	children := map[string]func(string) error{"append": appendForEver, "deliver": deliverSome, "full": fillDisk}
	if child := children[os.Getenv(childVar)]; child != nil {
		if err := child(os.Getenv(dirVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func childOf(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+name, dirVar+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func childOptions(dir string) Options {
	return Options{Dir: dir, MaxBytes: 64 << 20, SegmentBytes: 64 << 10}
}

func appendForEver(dir string) error {
	l, err := Open(childOptions(dir))
	if err != nil {
		return err
	}
	for n := uint64(1); n < 50_000; n++ { // bounded, should nobody kill it
		if err := l.Append(frameOf(n, 5, int(n%1000))); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// deliveries are counted before a child is killed.
const deliveries = 100

// deliverSome tells what it sends before it sends it: what it did not tell is not delivered. It waits to be killed after
// half as many more as its killer counts, who may be late: otherwise it would come to the end.
func deliverSome(dir string) error {
	l, err := Open(childOptions(dir))
	if err != nil {
		return err
	}
	for range 3 * deliveries / 2 {
		frame, err := l.Next()
		if err != nil || frame == nil {
			return err
		}
		fmt.Println(sequenceOf(body(frame)))
		if err := l.Delivered(); err != nil {
			return err
		}
	}
	time.Sleep(time.Hour)
	return l.Close()
}

// killed runs the child until it has told lines, kills it, and returns all that it told.
func killed(t *testing.T, name, dir string, lines int) (told []uint64) {
	t.Helper()
	cmd := childOf(t, name, dir)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	for in := bufio.NewScanner(out); in.Scan(); {
		n, err := strconv.ParseUint(in.Text(), 10, 64)
		if err != nil {
			break // torn by the kill
		}
		if told = append(told, n); len(told) == lines {
			check(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || len(told) < lines {
		t.Fatalf("the child told %d of %d and ended: %v", len(told), lines, err)
	}
	return told
}

// TestKillNine: what was appended is there, once and in order; what was told to be sent and not delivered comes again.
func TestKillNine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	told := killed(t, "append", dir, 700)
	l := opened(t, childOptions(dir))
	var kept []uint64
	check(t, l.Each(func(b []byte) error { kept = append(kept, sequenceOf(b)); return nil }))
	check(t, l.Close())
	if len(kept) < len(told) || !slices.Equal(kept[:len(told)], told) {
		t.Fatalf("%d batches were appended, %d are there", len(told), len(kept))
	}
	last := uint64(0)
	for round := range 3 {
		sent := killed(t, "deliver", dir, deliveries)
		// The child may have delivered one more than it could tell, or one less.
		if first := sent[0]; first < last || first > last+2 || round == 0 && first != 1 {
			t.Fatalf("after %d comes %d", last, first)
		}
		last = sent[len(sent)-1]
		for i := range sent[1:] {
			if sent[i+1] != sent[i]+1 {
				t.Fatalf("after %d comes %d", sent[i], sent[i+1])
			}
		}
	}
	l = opened(t, childOptions(dir))
	left := rest(t, l)
	if len(left) == 0 || left[0] < last || left[0] > last+2 || left[len(left)-1] != kept[len(kept)-1] {
		t.Errorf("after %d come %v…%v of %d", last, left[:1], left[len(left)-1:], kept[len(kept)-1])
	}
	if c := l.Counts(); c.Damaged != 0 {
		t.Errorf("%+v", c)
	}
}
