package accesslog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/costtest"
)

// TestCostOfRefusing: a line, whatever it holds; measured: 2 ms and 0.8 MB.
func TestCostOfRefusing(t *testing.T) {
	fill := func(head, s string) string { return head + strings.Repeat(s, (MaxLine-len(head))/len(s)) }
	request := `203.0.113.7 - - [21/Nov/2026:23:27:57 +0000] "GET / HTTP/1.1" 200 `
	for name, line := range map[string]string{
		"zeros": fill("", "\x00"), "spaces": fill("", " "), "brackets": fill("1 ", "["), "empty names": fill("1 -", ` "" [`), "quotes": fill(request, ` "`),
		"backslashes": fill(request+`5 "`, `\`), "words": fill(request, "1 "), "digits": fill(request, "9"), "closed": fill(request, `] `),
		"arrays": fill("{\"msec\":", "["), "objects": fill("", `{"msec":`), "keys": fill("{", `"k":1,`), "one key": fill(`{"`, "k"), "escapes": fill(`{"`, `\u0001`),
		"number": fill(`{"msec":`, "9"), "host": fill(`{"host":"`, `\ud800`), "twice": fill("{", `"host":"",`), "too long": strings.Repeat("x", MaxLine+1),
	} {
		for _, format := range []Format{NginxJSON, Apache, Lines} {
			c, err := costtest.Of(func() error { _, err := format.Decode(1<<60, []byte(line)); return err })
			if err == nil || c.Over() != "" {
				t.Errorf("%s as %s: %v, %s", name, format, err, c.Over())
			}
			t.Logf("%s as %s: %+v", name, format, c)
		}
	}
}

// Lines that wait for their window keep no more than their fields: a client may send an agent of
// 8 kB, and a million lines may wait.
func TestCostOfWaiting(t *testing.T) {
	const lines, most = 1000, 512
	m := NewMatcher(MatchConfig{WindowSeconds: testWindow, MinBytes: testMin})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range lines {
		r, err := Apache.Decode(1, fmt.Appendf(nil, `203.0.113.7 - - [x] "GET / HTTP/1.1" 200 1 "-" "%s" 48004 192.0.2.1 80 www.example 300 %d 1795303677095981 315 132`,
			strings.Repeat("a", 100_000), i))
		if err != nil {
			t.Fatal(err)
		}
		m.Response(r)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > lines*most {
		t.Errorf("%d bytes for %d lines", kept, lines)
	}
	runtime.KeepAlive(m)
}
