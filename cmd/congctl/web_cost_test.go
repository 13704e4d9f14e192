package main

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/loop/config"
)

// What refusing one request may cost beside what costtest has.
const (
	planCPU       = time.Second // a plan of 16 MiB that its operator may send is read as JSON first
	planAlloc     = 128 << 20
	refusalAnswer = 32 << 10 // bytes: 4 KiB of text, of which JSON writes some as six
)

// hostile is what is sent to the page's port, byte by byte as it is here.
type hostile struct {
	name, sent string
	code       string // of the answer: "" is none, "*" any
}

func request(line string, headers ...string) string {
	return line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func post(query, token, body string) string {
	return request("POST /api/pop/chi/v1/"+query, tokenHeader+": "+token, fmt.Sprintf("Content-Length: %d", len(body))) + body
}

// hostileRequests are each refused, or answered for next to nothing.
func hostileRequests() []hostile {
	long, deep, huge := strings.Repeat("a", 7000), strings.Repeat("[", 60_000), strings.Repeat("x", 17<<20)
	fields := `{` + strings.Repeat(`"unknown":1,`, 5000) + `"x":1}`
	list := `{"states":["` + strings.Repeat(`a","`, 12_000) + `"]}`
	all := []hostile{
		{"a header of 1 MB", request("GET /metrics", "X: "+huge[:1<<20]), "431"},
		{"100,000 headers", request("GET /metrics", strings.Repeat("X: y\r\n", 100_000)), "431"},
		{"a long path", request("GET /" + long), "404"},
		{"a path of slashes", request("GET " + strings.Repeat("/", 7000)), "*"},
		{"a path in percents", request("GET /" + strings.Repeat("%41", 2300)), "404"},
		{"a long query", request("GET /api/pop/chi/v1/" + long), "404"},
		{"a query of controls", request("GET /api/pop/chi/v1/" + strings.Repeat("%01", 2300)), "404"},
		{"a long PoP", request("GET /api/pop/" + long + "/v1/status"), "404"},
		{"a PoP of controls", request("GET /api/pop/" + strings.Repeat("%01", 2300) + "/v1/live"), "404"},
		{"many parameters", request("GET /api/desk?" + strings.Repeat("a=1&", 1700)), "200"},
		{"a long method", request(strings.ToUpper(long) + " /api/pop/chi/v1/status"), "405"},
		{"a long Host", strings.Replace(request("GET /"), "localhost", strings.Repeat("\\", 7000), 1), "*"},
		{"a long Origin", request("GET /", "Origin: http://"+long), "403"},
		{"a long Accept", request("GET /metrics", "Accept: "+strings.Repeat("a/b;q=0.1,", 700)), "200"},
		{"a long token", request("GET /api/desk", tokenHeader+": "+long), "401"},
		{"no HTTP", "\x16\x03\x01" + long, "*"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "*"},
		{"bad chunks", request("POST /api/pop/chi/v1/status", "Transfer-Encoding: chunked") + "ffffffffffffffffff\r\n", "400"},
		{"a body that stops", request("POST /api/pop/chi/v1/status", "Content-Length: 60000") + deep[:100], "*"},
		{"a header that stops", "GET /metrics HTTP/1.1\r\nHost: loc", "*"},
		{"a huge body", post("status", "", huge), "413"},
		{"a huge body to an unknown query", post("nothing", "", huge), "404"},
		{"a huge body to stop", post("stop", "", huge), "403"},
		{"a huge plan to compare", post("compare", "", huge), "403"},
		{"a huge plan to push", post("push", "look", huge), "403"},
		{"an operator's, too large", post("push", "op", huge), "413"},
		{"an operator's, unknown with a long value", post("push", "op", `{"x":"`+huge[:16<<20]+`"}`), "400"},
		{"an operator's, no JSON", post("push", "op", huge[:16<<20]), "400"},
		{"an operator's, deep", post("push", "op", strings.Repeat("[", 16<<20)), "400"},
		{"an operator's, one unknown field", post("push", "op", `{"`+huge[:16<<20]+`":1}`), "400"},
	}
	for _, q := range []string{"status", "prefixes", "explain", "rounds", "events", "plan", "effect", "rates", "recent", "fleet", "history"} {
		all = append(all, hostile{"deep JSON to " + q, post(q, "", deep), "400"}, hostile{"unknown fields to " + q, post(q, "", fields), "400"},
			hostile{"one long field to " + q, post(q, "", `{"`+huge[:60_000]+`":1}`), "400"})
	}
	for _, q := range []string{"stop", "push", "rollback", "freeze"} { // whose refusals are logged
		all = append(all, hostile{"deep JSON to " + q, post(q, "op", deep), "400"}, hostile{"one long field to " + q, post(q, "op", `{"`+huge[:60_000]+`":1}`), "400"})
	}
	return append(all,
		hostile{"many states", post("prefixes", "", list), "200"},
		hostile{"many networks", post("recent", "", `{"windows":1,"prefixes":["`+strings.Repeat(`192.0.2.0/24","`, 4000)+`192.0.2.0/24"]}`), "400"},
		hostile{"no network", post("explain", "", `{"prefix":"`+huge[:60_000]+`"}`), "400"},
		hostile{"a long header of a deadline", request("POST /api/pop/chi/v1/stop", tokenHeader+": op", "Congctl-Act-By: "+long), "400"},
	)
}

// TestCostOfRefusing: the process pays little for each, also where it is logged. The figures are in the log of -v.
func TestCostOfRefusing(t *testing.T) {
	b := openBoard(t, 10, config.Default())
	for _, h := range append([]hostile{{"the first", request("GET /metrics"), "200"}}, hostileRequests()...) {
		answer, line, cpu, alloc := b.pays(t, h.sent)
		t.Logf("%-40s %5.1f ms %6d kB, %5d bytes answered, %3d logged", h.name, float64(cpu.Microseconds())/1000, alloc>>10, len(answer), len(line))
		code, _, _ := strings.Cut(strings.TrimPrefix(answer, "HTTP/1.1 "), " ")
		if h.code != "*" && code != h.code {
			t.Errorf("%s: %.200q", h.name, answer)
		}
		mostCPU, mostAlloc := costtest.MaxCPU, uint64(costtest.MaxBytes)
		if strings.HasPrefix(h.name, "an operator's") {
			mostCPU, mostAlloc = planCPU, planAlloc
		}
		if cpu > mostCPU || alloc > mostAlloc || len(answer) > refusalAnswer || len(line) > costtest.MaxText || strings.Count(line, "\n") > 1 {
			t.Errorf("%s: %s, %d bytes, %d answered, log %.600q", h.name, cpu, alloc, len(answer), line)
		}
	}
}

// pays returns what an answer costs the process, with its client: the least processor time of three.
func (b *board) pays(t *testing.T, sent string) (answer, line string, cpu time.Duration, alloc uint64) {
	t.Helper()
	var times []time.Duration
	for range 3 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, said := costtest.CPU(), len(b.log.String())
		answer = exchange(t, strings.TrimPrefix(b.url, "http://"), sent)
		times = append(times, costtest.CPU()-began)
		line = b.log.String()[said:]
		runtime.ReadMemStats(&after)
		alloc = after.TotalAlloc - before.TotalAlloc
		if len(times) == 1 && slices.Max(times) < costtest.MaxCPU/10 {
			break // it is far below
		}
	}
	return answer, line, slices.Min(times), alloc
}

// exchange sends until the other end has answered, and returns what it said.
func exchange(t *testing.T, address, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	check(t, err)
	defer c.Close()
	check(t, c.SetDeadline(time.Now().Add(patience)))
	go func() { _, _ = io.WriteString(c, sent) }() // ends when the other end has had enough
	answer, _ := io.ReadAll(c)                     // reset where something was left unread
	return string(answer)
}
