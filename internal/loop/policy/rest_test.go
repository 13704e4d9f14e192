package policy

import (
	"cmp"
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// shelf is a file in memory.
type shelf struct{ image []byte }

func (s *shelf) WriteAt(b []byte, at int64) (int, error) {
	s.image = append(s.image[:at], b...)
	return len(b), nil
}

func (s *shelf) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(s.image)) {
		return 0, io.EOF
	}
	return copy(b, s.image[at:]), nil
}

type brokenDisk struct{}

func (brokenDisk) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no room") }

// TestRest: an engine that rests between rounds, and is asked meanwhile, decides as one that never does.
func TestRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, windows := drawTriedCity(rt)
		rules := anyTriedRules(rt)
		c.paced = rules.Cap
		rested, s := New(rules, cityDraws()), &shelf{}
		same := func(_ int, e *Engine) *Engine { return e }
		c.runWith(rules, same, windows, func(w int, e *Engine, in Input, d Decision) {
			if err := rested.Wake(s); err != nil {
				rt.Fatal(err)
			}
			if got := rested.Round(in); !reflect.DeepEqual(got, d) {
				rt.Fatalf("window %d:\n%s", w, gocmp.Diff(d, got))
			}
			if rested.Doze() {
				rt.Fatal("it forgot a round")
			}
			if len(rested.tracks) > 0 && (rested.Rest(brokenDisk{}) == nil || rested.Resting()) {
				rt.Fatal("it rests without a place")
			}
			if err := rested.Rest(s); err != nil {
				rt.Fatal(err)
			}
			if w%3 > 0 || !rested.Resting() {
				return
			}
			if err := rested.Wake(s); err != nil {
				rt.Fatal(err)
			}
			if diff := gocmp.Diff(e.Rows(), rested.Rows()); diff != "" {
				rt.Fatalf("window %d:\n%s", w, diff)
			}
			if !rested.Doze() || !rested.Resting() {
				rt.Fatal("a question keeps it awake")
			}
		})
	})
}

// TestImageHasNoPointers: what the collector does not see must not be all that holds something.
func TestImageHasNoPointers(t *testing.T) {
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				check(of.Field(i).Type)
			}
		case reflect.Array:
			check(of.Elem())
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		default:
			t.Errorf("%s holds a pointer", of)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[counted](), reflect.TypeFor[slot](), reflect.TypeFor[entry](), reflect.TypeFor[span]()} {
		check(of)
	}
}

// FuzzWake: only what Rest wrote comes back.
func FuzzWake(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte("x"), uint16(70))
	f.Fuzz(func(t *testing.T, with []byte, at uint16) {
		e, s := New(cityRules(), nil), &shelf{}
		for w := range 4 {
			e.Round(city{seed: 1, prefixes: 8}.input(w, true, nil))
		}
		rows := e.Rows()
		if err := e.Rest(s); err != nil {
			t.Fatal(err)
		}
		was := string(s.image)
		s.image = append(s.image[:min(int(at), len(s.image))], with...)
		switch err := e.Wake(s); {
		case len(s.image) >= len(was) && string(s.image[:len(was)]) == was:
			if diff := gocmp.Diff(rows, e.Rows()); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
		case err == nil || !e.Resting():
			t.Fatal("it took another image")
		}
	})
}

// BenchmarkRest lays 10,000 prefixes with three hours each down in a file and takes them back.
func BenchmarkRest(b *testing.B) {
	e, rows := byLevel(DefaultRules()), crowd(10_000, 0)
	for w := range int64(36) {
		e.Round(shift(rows, noon+300*w))
	}
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if err := cmp.Or(e.Rest(f), e.Wake(f)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(e.laid.bytes)/10_000, "B/prefix")
}
