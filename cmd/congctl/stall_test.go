package main

import (
	"sync"
	"testing"
	"time"
)

// stallMeter tells how long this machine stood still while a test ran: the most
// that a short sleep took too long. Where a test compares the times at which two
// processes looked, that much lies between them and is nobody's fault.
type stallMeter struct {
	mu   sync.Mutex // guards most
	most time.Duration
}

func watchStalls(t testing.TB) *stallMeter {
	m, stop := &stallMeter{}, make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { m.watch(stop) })
	t.Cleanup(func() { close(stop); done.Wait() })
	return m
}

func (m *stallMeter) watch(stop <-chan struct{}) {
	const nap = 10 * time.Millisecond
	for {
		began := time.Now()
		select {
		case <-stop:
			return
		case <-time.After(nap):
		}
		m.mu.Lock()
		m.most = max(m.most, time.Since(began)-nap)
		m.mu.Unlock()
	}
}

func (m *stallMeter) longest() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// forget begins again.
func (m *stallMeter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most = 0
}
