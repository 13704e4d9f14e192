//go:build !small

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"
)

// A looker asks what an open page asks (web/src/live.ts), the overview and the table of networks at once, and
// scrapes ten times a second.
type looker struct {
	at   string
	http http.Client
	done chan struct{}
	wait sync.WaitGroup

	mu        sync.Mutex // guards all below
	slowestMs map[string]float64
	asked     int
	scrapes   int
	bad       []string
}

const scrapeEvery = 100 * time.Millisecond

func lookAtDashboard(tb testing.TB, address string) *looker {
	tb.Helper()
	l := &looker{at: "http://" + address, http: http.Client{Timeout: patience}, done: make(chan struct{}), slowestMs: map[string]float64{}}
	page, ok := l.get("/")
	if !ok {
		tb.Fatal("the dashboard does not answer")
	}
	for _, asset := range regexp.MustCompile(`/assets/[^"]+`).FindAll(page, -1) {
		l.get(string(asset))
	}
	l.get("/api/desk")
	l.wait.Go(func() { l.every(scrapeEvery, func() { l.get("/metrics") }) })
	epoch := ""
	l.wait.Go(func() { l.every(5*time.Second, func() { epoch = l.page(epoch) }) })
	return l
}

func (l *looker) every(d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		do()
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
	}
}

func (l *looker) end() (slowestMs map[string]float64, asked, scrapes int, bad []string) {
	close(l.done)
	l.wait.Wait()
	l.http.CloseIdleConnections()
	return l.slowestMs, l.asked, l.scrapes, l.bad
}

// page asks the status, and what follows from it.
func (l *looker) page(epoch string) string {
	body, ok := l.ask("status", "{}")
	var s struct {
		Round   int64 `json:"round_unix_s"`
		Plan    uint64
		Stopped bool
		Frozen  bool
	}
	if !ok || json.Unmarshal(body, &s) != nil || fmt.Sprint(s) == epoch {
		return epoch
	}
	for _, q := range [][2]string{
		{"rounds", `{"n":288}`}, {"events", `{"limit":12}`}, {"history", `{"n":40}`}, {"effect", `{"Since":"24h","By":"","Label":""}`},
		{"rates", `{"windows":288}`}, {"prefixes", `{"sort":"address"}`},
	} {
		l.wait.Go(func() { l.ask(q[0], q[1]) })
	}
	return fmt.Sprint(s)
}

func (l *looker) ask(query, body string) ([]byte, bool) {
	r, err := http.NewRequest(http.MethodPost, l.at+"/api/pop/test/v1/"+query, bytes.NewBufferString(body))
	if err != nil {
		return nil, false
	}
	r.Header.Set("Content-Type", "application/json")
	return l.do(query, r)
}

func (l *looker) get(path string) ([]byte, bool) {
	r, err := http.NewRequest(http.MethodGet, l.at+path, nil)
	if err != nil {
		return nil, false
	}
	return l.do(path, r)
}

func (l *looker) do(name string, r *http.Request) ([]byte, bool) {
	began := time.Now()
	res, err := l.http.Do(r)
	var body []byte
	ok := err == nil
	if ok {
		body, err = io.ReadAll(res.Body)
		res.Body.Close()
		ok = err == nil && res.StatusCode == http.StatusOK
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowestMs[name] = max(l.slowestMs[name], float64(time.Since(began).Milliseconds()))
	if !ok {
		l.bad = append(l.bad, fmt.Sprintf("%s: %.80s, %v", name, body, err))
	}
	if name == "/metrics" {
		l.scrapes++
	} else {
		l.asked++
	}
	return body, ok
}
