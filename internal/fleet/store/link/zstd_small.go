//go:build small

package link

// kinds without zstd, which is half a megabyte: gzip is there for metrics.
var kinds = []packed{gzipped}
