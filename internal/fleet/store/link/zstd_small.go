//go:build small

package link

import "connectrpc.com/connect"

// Without zstd, which is half a megabyte: gzip is there for metrics.
func packing() connect.ClientOption    { return connect.WithSendGzip() }
func unpacking() connect.HandlerOption { return connect.WithHandlerOptions() }
