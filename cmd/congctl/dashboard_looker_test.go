//go:build !small

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"
)

// A looker follows the stream of an open page (web/src/live.ts), asks what the overview and the table of networks
// ask at each message, and scrapes ten times a second.
type looker struct {
	at   string
	http http.Client
	done context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu        sync.Mutex // guards all below
	slowestMs map[string]float64
	asked     int
	scrapes   int
	messages  int
	bad       []string
}

const scrapeEvery = 100 * time.Millisecond

func lookAtDashboard(tb testing.TB, address string) *looker {
	tb.Helper()
	l := &looker{at: "http://" + address, http: http.Client{Timeout: patience}, slowestMs: map[string]float64{}}
	l.done, l.stop = context.WithCancel(tb.Context())
	page, ok := l.get("/")
	if !ok {
		tb.Fatal("the dashboard does not answer")
	}
	for _, asset := range regexp.MustCompile(`/assets/[^"]+`).FindAll(page, -1) {
		l.get(string(asset))
	}
	l.get("/api/desk")
	l.wait.Go(l.scrape)
	l.wait.Go(l.follow)
	return l
}

func (l *looker) scrape() {
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		l.get("/metrics")
		select {
		case <-l.done.Done():
			return
		case <-tick.C:
		}
	}
}

// end leaves the page. The maps and numbers of l are final then.
func (l *looker) end() {
	l.stop()
	l.wait.Wait()
	l.http.CloseIdleConnections()
}

// follow reads the stream to its end, and asks at each message what the page asks then.
func (l *looker) follow() {
	r, err := http.NewRequestWithContext(l.done, http.MethodGet, l.at+"/api/pop/test/v1/live", nil)
	if err != nil {
		l.fail(err)
		return
	}
	res, err := (&http.Client{Transport: l.http.Transport}).Do(r)
	if err != nil {
		l.fail(err)
		return
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	epoch, events := "", int64(0)
	for lines.Scan() {
		if text, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			epoch, events = l.message(text, epoch, events)
		}
	}
	if l.done.Err() == nil {
		l.fail(fmt.Errorf("the stream ended, status %d: %w", res.StatusCode, cmp.Or(lines.Err(), io.EOF)))
	}
}

func (l *looker) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = append(l.bad, err.Error())
}

// message asks all anew if the epoch is another one, and the events if there are new ones.
func (l *looker) message(text []byte, epoch string, events int64) (string, int64) {
	var p Pulse
	if err := json.Unmarshal(text, &p); err != nil {
		l.fail(err)
	}
	l.mu.Lock()
	l.messages++
	l.mu.Unlock()
	s := &p.Status
	now := fmt.Sprint(s.RoundUnixS, s.Plan, s.Stopped, s.Frozen)
	if now != epoch {
		for _, q := range [][2]string{
			{"rounds", `{"n":288}`}, {"history", `{"n":40}`}, {"effect", `{"Since":"24h","By":"","Label":""}`}, {"rates", `{"windows":288}`},
		} {
			l.wait.Go(func() { l.ask(q[0], q[1]) })
		}
		l.wait.Go(l.table)
	}
	if now != epoch || p.Events != events {
		l.wait.Go(func() { l.ask("events", `{"limit":12}`) })
	}
	return now, p.Events
}

// table asks for all networks, and for the last windows of those in view.
func (l *looker) table() {
	body, _ := l.ask("prefixes", `{"sort":"address"}`)
	var rows []struct{ Prefix string }
	if json.Unmarshal(body, &rows) != nil {
		return // l.bad has why
	}
	var seen []string
	for _, r := range rows[:min(len(rows), 40)] {
		seen = append(seen, r.Prefix)
	}
	b, err := json.Marshal(map[string]any{"prefixes": seen, "windows": 36})
	if err == nil && len(seen) > 0 {
		l.ask("recent", string(b))
	}
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
