package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// leastPacked bytes of an answer are worth a compressor, which takes 0.8 MB to make: a refusal has a hundred.
const leastPacked = 1 << 10

// compressors are those that no answer has.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// packed compresses answers, most of all 100,000 networks.
func packed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.ServeHTTP(w, r)
			return
		}
		p := &packing{ResponseWriter: w}
		defer p.end()
		h.ServeHTTP(p, r)
	})
}

// packing is an answer that is compressed if its first part is long.
type packing struct {
	http.ResponseWriter
	code  int // of WriteHeader, which goes with the first part
	begun bool
	z     *gzip.Writer
}

// WriteHeader implements http.ResponseWriter.
func (p *packing) WriteHeader(code int) { p.code = code }

func (p *packing) Write(b []byte) (int, error) {
	if !p.begun {
		p.begin(len(b))
	}
	if p.z != nil {
		return p.z.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

func (p *packing) begin(first int) {
	p.begun = true
	if first >= leastPacked {
		p.z = compressors.Get().(*gzip.Writer)
		p.z.Reset(p.ResponseWriter)
		p.Header().Set("Content-Encoding", "gzip")
		p.Header().Del("Content-Length")
	}
	if p.code != 0 {
		p.ResponseWriter.WriteHeader(p.code)
	}
}

func (p *packing) end() {
	if !p.begun {
		p.begin(0)
	}
	if p.z != nil {
		_ = p.z.Close() // the connection is gone, or it works
		p.z.Reset(io.Discard)
		compressors.Put(p.z)
	}
}

// Unwrap lets the deadline be set.
func (p *packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }
