package kafka

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestSignatures come with their batches through Kafka, and what is not verified goes to the dead-letter topic.
func TestSignatures(t *testing.T) {
	a := fake(t)
	p, err := NewProducer(a, "fra", func(m []byte) (Signature, error) {
		return Signature{append([]byte("of "), m...), [][]byte{[]byte("own"), []byte("between")}}, nil
	})
	check(t, err)
	defer p.Close()
	without := producer(t, a, "fra")
	verify := func(m []byte, s Signature) error {
		if got := fmt.Sprintf("%s %s", s.Bytes, s.Chain); got != fmt.Sprintf("of %s [own between]", m) {
			return errors.New("not signed")
		}
		return nil
	}
	c, err := NewConsumer(a, "ingest", verify)
	check(t, err)
	defer c.Close()
	check(t, p.Send(t.Context(), framed("one")))
	check(t, without.Send(t.Context(), framed("forged")))
	check(t, p.Send(t.Context(), framed("two")))
	if got := collect(t, c, 2); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
	nothing(t, c)
	dead := consumer(t, Address{Brokers: a.Brokers, Topic: a.Dead()}, "dead")
	if got := collect(t, dead, 1); got[0] != "forged" {
		t.Errorf("the dead-letter topic has %q", got)
	}
	refuses, err := NewProducer(a, "fra", func([]byte) (Signature, error) { return Signature{}, errors.New("no key") })
	check(t, err)
	defer refuses.Close()
	if err := refuses.Send(t.Context(), framed("three")); err == nil {
		t.Error("a batch without a signature was sent")
	}
	check(t, c.Poll(t.Context(), 100*time.Millisecond, never, func(m []byte) error { t.Errorf("%q", m); return nil }))
}
