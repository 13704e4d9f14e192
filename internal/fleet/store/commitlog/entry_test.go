package commitlog

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// anyone believes all that names the controller "one".
type anyone struct{}

func (anyone) Sign(mtls.Purpose, []byte) ([]byte, [][]byte, error) { return []byte("s"), nil, nil }

func (anyone) Verify(_ mtls.Purpose, message, signature []byte, _ [][]byte, at time.Time) (mtls.Identity, error) {
	if string(signature) != "s" {
		return mtls.Identity{}, errors.New("another signature")
	}
	return mtls.Identity{Role: mtls.Controller, Name: "one"}, nil
}

func FuzzDecode(f *testing.F) {
	for _, rows := range []int{0, 3} {
		e := &entry{PoP: "chi", By: "one", At: 7, Generation: 1, Sequence: 2, commit: commitOf(sample(rand.New(rand.NewPCG(1, 2)), 0, rows))}
		body, err := e.signed(anyone{})
		check(f, err)
		f.Add(body)
	}
	f.Add([]byte(`{"signature":"cw=="}` + "\n" + `{"pop":"chi","by":"one","settings":{"a":null},"rows":[{"Prefix":"x"}]}`))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decode(body, "chi", anyone{})
		if err != nil {
			if e != nil {
				t.Fatal("an entry and an error")
			}
			return
		}
		for _, w := range e.journal().Rows {
			if !w.Prefix.Valid() {
				return // the store refuses it
			}
		}
		again, err := e.signed(anyone{})
		check(t, err)
		second, err := decode(again, "chi", anyone{})
		check(t, err)
		third, err := second.signed(anyone{})
		check(t, err)
		if d := cmp.Diff(string(again), string(third)); d != "" {
			t.Errorf("an entry that was read is written otherwise:\n%s", d)
		}
	})
}

// BenchmarkEntry codes a round with 10,000 networks, two rows each. B/zstd is what Kafka keeps of it.
func BenchmarkEntry(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &entry{PoP: "chi", By: "one", commit: commitOf(sample(rng, 0, 20_000))}
	s := controllerOf(b, mtlstest.New(b), "one").creds
	e.At = time.Now().Unix()
	var body []byte
	var err error
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			body, err = e.signed(s)
			check(b, err)
		}
		small, err := zstd.NewWriter(nil)
		check(b, err)
		b.ReportMetric(float64(len(body)), "B/entry")
		b.ReportMetric(float64(len(small.EncodeAll(body, nil))), "B/zstd")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, err := decode(body, "chi", s)
			check(b, err)
		}
	})
}
