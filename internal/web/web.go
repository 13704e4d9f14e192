// Package web serves the dashboard's page: what `make web` builds of the folder web, embedded.
//
// It answers no question about congctl: the page asks control's queries, which cmd/congctl puts below
// /api/.
//
// Its trap: the page may load and ask nothing but this server, and the policy in its header says so. A
// style or a script inside the page would be refused by the browser, silently for its reader.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var built embed.FS

// headers of each answer. Nothing is loaded from elsewhere, and nothing elsewhere frames the page.
var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"Vary":                         "Accept-Encoding",
}

// asset is one file, ready to send.
type asset struct {
	plain, packed []byte
	kind          string
	tag           string
	keep          string
}

// Page returns the handler of the page and its assets.
func Page() (http.Handler, error) {
	assets := map[string]*asset{}
	err := fs.WalkDir(built, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := built.ReadFile(name)
		if err == nil {
			url := strings.TrimPrefix(name, "dist")
			assets[url], err = newAsset(url, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	assets["/"] = assets["/index.html"]
	return page(assets), nil
}

func newAsset(url string, b []byte) (*asset, error) {
	a := &asset{plain: b, kind: mime.TypeByExtension(path.Ext(url)), keep: "no-cache"}
	a.tag = fmt.Sprintf(`"%x"`, sha256.Sum256(b))[:18] + `"`
	if strings.HasPrefix(url, "/assets/") { // its name has its hash
		a.keep = "public, max-age=31536000, immutable"
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(b)
	if cerr := z.Close(); err == nil {
		err = cerr
	}
	a.packed = packed.Bytes()
	return a, err
}

type page map[string]*asset

func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for k, v := range headers {
		w.Header().Set(k, v)
	}
	a := p[r.URL.Path]
	if a == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", a.keep)
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(a.packed) < len(a.plain) {
		w.Header().Set("Content-Encoding", "gzip")
		body = a.packed
	}
	_, _ = w.Write(body) // the browser may have left
}
