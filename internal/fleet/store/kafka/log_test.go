package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

func takeLog(t testing.TB, a Address, pop string) *Log {
	t.Helper()
	l, err := TakeLog(t.Context(), a, pop)
	check(t, err)
	t.Cleanup(l.Close)
	return l
}

func appended(t testing.TB, l *Log, body string) int64 {
	t.Helper()
	at, err := l.Append(t.Context(), []byte(body))
	check(t, err)
	return at
}

// bodies reads a log from an offset on up to what it now appends.
func bodies(t testing.TB, l *Log, from int64) (got []string) {
	t.Helper()
	until := appended(t, l, "end")
	check(t, l.Read(t.Context(), from, until, func(at int64, b []byte) error {
		if at != until {
			got = append(got, string(b))
		}
		return nil
	}))
	return got
}

func TestLog(t *testing.T) { logOfOne(t, fake(t)) }

// logOfOne: what one owner appended, the next one reads, without that of other PoPs, of
// transactions that were not finished, and of the owner before, who is refused from then on.
func logOfOne(t *testing.T, a Address) {
	one, other := takeLog(t, a, "chi"), sameAs(t, a, "chi")
	first := appended(t, one, "one")
	long := string(bytes.Repeat([]byte("0123456789"), 250_000))
	appended(t, takeLog(t, a, other), "of another PoP")
	begin := appended(t, one, long)
	want := []string{"one", long}
	if d := cmp.Diff(want, bodies(t, one, 0)); d != "" {
		t.Errorf("%.500s", d)
	}
	halfway(t, takeLog(t, a, "chi"))
	two := takeLog(t, a, "chi")
	if _, err := one.Append(t.Context(), []byte("of a zombie")); !errors.Is(err, ErrFenced) {
		t.Errorf("the owner before appended: %v", err)
	}
	appended(t, two, "two")
	want = append(want, "end", "two")
	if d := cmp.Diff(want, bodies(t, two, first)); d != "" {
		t.Errorf("%.500s", d)
	}
	// From a body's last piece on: only what is whole.
	if d := cmp.Diff([]string{"end", "two", "end"}, bodies(t, two, begin)); d != "" {
		t.Errorf("%.500s", d)
	}
}

// halfway leaves a transaction open, as a controller that is killed does.
func halfway(t testing.TB, l *Log) {
	check(t, l.client.BeginTransaction())
	check(t, l.client.ProduceSync(t.Context(), l.pieces([]byte("not finished"))...).FirstErr())
}

// sameAs names a PoP whose log is in the same partition.
func sameAs(t testing.TB, a Address, pop string) string {
	n, err := partitionsOf(t.Context(), a, a.Commits())
	check(t, err)
	for i := 0; ; i++ {
		if name := fmt.Sprint("pop", i); partitionOf(name, n) == partitionOf(pop, n) {
			return name
		}
	}
}

func TestShares(t *testing.T) { sharesOfTwo(t, fake(t)) }

// sharesOfTwo: each PoP is one member's; what a member leaves is the other's.
func sharesOfTwo(t *testing.T, a Address) {
	pops := []string{"ams", "chi", "fra", "lon", "nyc", "par", "syd", "tok"}
	join := func(name string) *Shares {
		s, err := JoinShares(t.Context(), a, name, func(func(string) bool) {})
		check(t, err)
		t.Cleanup(s.Close)
		return s
	}
	one := join("one")
	await(t, "all at one", func() bool { return !slices.ContainsFunc(pops, func(p string) bool { return !one.Mine(p) }) })
	two := join("two")
	await(t, "each at one of two", func() bool {
		n := 0
		for _, p := range pops {
			if one.Mine(p) == two.Mine(p) {
				return false
			}
			if two.Mine(p) {
				n++
			}
		}
		return n > 0
	})
	await(t, "the owners' names", func() bool {
		return !slices.ContainsFunc(pops, func(p string) bool {
			name, err := one.Owner(t.Context(), p)
			return err != nil || name != map[bool]string{true: "one", false: "two"}[one.Mine(p)]
		})
	})
	one.Close()
	await(t, "all at two", func() bool { return !slices.ContainsFunc(pops, func(p string) bool { return !two.Mine(p) }) })
}

func await(t testing.TB, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTime); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestAssembler: pieces of bodies that are not whole, or that none of ours wrote, make no body.
func TestAssembler(t *testing.T) {
	l := &Log{pop: "chi"}
	body := bytes.Repeat([]byte("x"), 2*maxPiece+1)
	whole := l.pieces(body)
	if len(whole) != 3 {
		t.Fatalf("%d pieces", len(whole))
	}
	bare := &kgo.Record{Key: []byte("chi"), Value: []byte("y")}
	foreign := &kgo.Record{Key: []byte("ams"), Value: []byte("z"), Headers: whole[0].Headers}
	for _, c := range []struct {
		name string
		in   []*kgo.Record
		want int
	}{
		{"whole", whole, 1},
		{"twice", append(slices.Clone(whole), whole...), 2},
		{"the end, and whole", append(slices.Clone(whole[1:]), whole...), 1},
		{"the beginning, and whole", append(slices.Clone(whole[:2]), whole...), 1},
		{"without the middle", []*kgo.Record{whole[0], whole[2]}, 0},
		{"not a piece, between", []*kgo.Record{whole[0], bare, whole[1], whole[2]}, 0},
		{"of another PoP, between", []*kgo.Record{whole[0], foreign, whole[1], whole[2]}, 1},
		{"the last twice", append(slices.Clone(whole), whole[2]), 1},
	} {
		a, n := assembler{pop: "chi"}, 0
		for _, r := range c.in {
			if got := a.add(r); got != nil {
				n++
				if !bytes.Equal(got, body) {
					t.Errorf("%s: %d bytes, want %d", c.name, len(got), len(body))
				}
			}
		}
		if n != c.want {
			t.Errorf("%s: %d bodies, want %d", c.name, n, c.want)
		}
	}
	if got := (&assembler{pop: "chi"}).add(l.pieces(nil)[0]); got == nil || len(got) != 0 {
		t.Errorf("an empty body: %v", got)
	}
}

// TestNoCommits: without the topic both say so.
func TestNoCommits(t *testing.T) {
	a := fake(t)
	a.Topic = "others"
	_, err1 := TakeLog(t.Context(), a, "chi")
	_, err2 := JoinShares(context.Background(), a, "one", func(func(string) bool) {})
	if !errors.Is(err1, ErrNoTopic) || !errors.Is(err2, ErrNoTopic) {
		t.Errorf("%v; %v", err1, err2)
	}
}
