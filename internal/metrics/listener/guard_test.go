package listener

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const act, see = "POST /api/pop/x/v1/stop", "GET /api/pop/x/v1/prefixes"

// guarded are requests; in header, To is the address that one came to.
var guarded = []struct {
	what, host, header string
	want               int
}{
	{act, "127.0.0.1:9477", "Sec-Fetch-Site: same-origin|Origin: http://127.0.0.1:9477", http.StatusOK},
	{act, "[::1]:9477", "", http.StatusOK},
	{act, "[::1]", "", http.StatusOK},
	{act, "::1", "", http.StatusOK},
	{act, "localhost:9999", "Sec-Fetch-Site: none", http.StatusOK},
	{act, "LOCALHOST", "", http.StatusOK},
	{act, "LocalHost.:9477", "", http.StatusOK},
	{act, "edge.example.net:9477", "Origin: http://edge.example.net:9477", http.StatusOK},
	{act, "EDGE.example.net", "Origin: http://edge.EXAMPLE.net", http.StatusOK},
	{act, "evil.example:9477", "Sec-Fetch-Site: same-origin", http.StatusMisdirectedRequest},
	{act, "localhost.evil.example", "", http.StatusMisdirectedRequest},
	{act, "127.0.0.1.evil.example", "", http.StatusMisdirectedRequest},
	{act, "[evil.example]", "", http.StatusMisdirectedRequest},
	{act, "", "", http.StatusMisdirectedRequest},
	{act, strings.Repeat("\x01", 8000), "", http.StatusMisdirectedRequest},
	{act, "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Origin: https://evil.example", http.StatusForbidden},
	{act, "127.0.0.1:9477", "Sec-Fetch-Site: same-site|Origin: http://127.0.0.1:80", http.StatusForbidden},
	{act, "127.0.0.1:9477", "Origin: https://evil.example", http.StatusForbidden},
	{act, "127.0.0.1:9477", "Origin: null", http.StatusForbidden},
	{see, "127.0.0.1:9477", "", http.StatusOK},
	{see, "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: image", http.StatusForbidden},
	{see, "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", http.StatusForbidden},
	{see, "127.0.0.1:9477", "Origin: https://evil.example", http.StatusForbidden},
	{"GET /metrics", "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty", http.StatusForbidden},
	{"GET /metrics", "127.0.0.1:9477", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", http.StatusOK},
	{"GET /", "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", http.StatusOK},
	{"GET /", "127.0.0.1:9477", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: iframe", http.StatusForbidden},
	{"GET /metrics", "evil.example:9477", "", http.StatusMisdirectedRequest},
	{"GET /healthz", "evil.example:9477", "", http.StatusMisdirectedRequest},
	{"GET /debug/pprof/heap", "evil.example:9477", "", http.StatusMisdirectedRequest},
	// To 203.0.113.7, where others may reach it.
	{"GET /metrics", "edge1.internal:9477", "To: 203.0.113.7", http.StatusOK},
	{"GET /readyz", "anything", "To: 2001:db8::7", http.StatusOK},
	{"GET /metrics", "127.9.9.9:9477", "To: 127.9.9.9", http.StatusOK},
	{"GET /metrics", "evil.example", "To: ::ffff:127.0.0.1", http.StatusMisdirectedRequest},
	{"GET /metrics", "edge1.internal:9477", "To: 203.0.113.7|Sec-Fetch-Site: cross-site", http.StatusForbidden},
	{"GET /debug/pprof/heap", "edge1.internal:9477", "To: 203.0.113.7", http.StatusMisdirectedRequest},
	{see, "edge1.internal:9477", "To: 203.0.113.7", http.StatusMisdirectedRequest},
	{see, "203.0.113.7:9477", "To: 203.0.113.7", http.StatusOK},
}

// TestGuard: another site's page reaches nothing, under no name, and a person, a probe and a scraper do.
func TestGuard(t *testing.T) {
	h := guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }), "edge.example.net")
	for _, c := range guarded {
		method, path, _ := strings.Cut(c.what, " ")
		r := httptest.NewRequest(method, path, nil)
		r.Host = c.host
		for _, line := range strings.Split(c.header, "|") {
			k, v, _ := strings.Cut(line, ": ")
			if k == "To" {
				to := &net.TCPAddr{IP: net.ParseIP(v), Port: 9477}
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(to)))
			} else if v != "" {
				r.Header.Set(k, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || (w.Body.String() == "in") != (c.want == http.StatusOK) || w.Body.Len() > 500 {
			t.Errorf("%.300v: %d %s", c, w.Code, w.Body)
		}
	}
}
