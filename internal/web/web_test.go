package web

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func serve(t *testing.T, url string, header ...string) *http.Response {
	t.Helper()
	h, err := Page()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var linked = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// TestPage: the page links to assets that are there, with the policy that lets it load nothing else.
func TestPage(t *testing.T) {
	res := serve(t, "/")
	text := body(t, res.Body)
	if got := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'self';") || strings.Contains(got, "unsafe") {
		t.Errorf("policy %q", got)
	}
	if res.Header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("headers of the page: %v", res.Header)
	}
	links := linked.FindAllStringSubmatch(text, -1)
	if len(links) < 3 {
		t.Fatalf("%d links in the page:\n%s", len(links), text)
	}
	for _, l := range links {
		a := serve(t, l[1])
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(l[1], "/assets/") || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", l[1], a.StatusCode, a.Header)
		}
	}
	if strings.Contains(text, "<style") || regexp.MustCompile(`<script[^>]*>[^<]|style="|\son[a-z]+="`).MatchString(text) {
		t.Errorf("an inline script or style, which the policy refuses:\n%s", text)
	}
}

// TestNothingElsewhere: no asset names another server but as a namespace of XML.
func TestNothingElsewhere(t *testing.T) {
	elsewhere := regexp.MustCompile(`https?://[a-z0-9.-]+`)
	n := 0
	err := fs.WalkDir(built, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		b, err := built.ReadFile(name)
		for _, url := range elsewhere.FindAllString(string(b), -1) {
			if url != "http://www.w3.org" {
				t.Errorf("%s names %s", path.Base(name), url)
			}
		}
		return err
	})
	if err != nil || n < 5 {
		t.Errorf("%d assets, %v", n, err)
	}
}

func TestPackedAndKnown(t *testing.T) {
	plain, packed := serve(t, "/"), serve(t, "/", "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(packed.Body)
	if err != nil || packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%v, %v", err, packed.Header)
	}
	if body(t, z) != body(t, plain.Body) {
		t.Error("the packed page is another")
	}
	if again := serve(t, "/", "If-None-Match", plain.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || body(t, again.Body) != "" {
		t.Errorf("known by its tag: %d", again.StatusCode)
	}
	if licences := body(t, serve(t, "/licences.txt").Body); !strings.Contains(licences, "preact") || !strings.Contains(licences, "uplot") || strings.Count(licences, "Permission is hereby granted") < 2 {
		t.Errorf("licences:\n%s", licences)
	}
	if res := serve(t, "/etc/passwd"); res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("no such page: %d %v", res.StatusCode, res.Header)
	}
}
