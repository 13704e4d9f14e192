package link

import (
	"compress/gzip"
	"errors"
	"io"

	"connectrpc.com/connect"
)

// Connect takes no message beyond its limit, but unpacks all of it before it says so, and a megabyte of zstd may have 30
// gigabytes. So what unpacks has the limit, too. And megabytes may unpack to nothing, each block with tables to be made: so it may not
// read much more than comes out.

// packed is a compression by its name in HTTP.
type packed struct {
	name   string
	ahead  int64 // bytes: how much more may go in than has come out
	unpack func() connect.Decompressor
	pack   func() connect.Compressor
}

const (
	gzipName = "gzip"
	// gzipAhead is a window of 32 KiB (RFC 1951), and as much again for the reader's buffer and what cannot be compressed. A block of
	// nothing has 15 bytes and costs a reader 2 µs: 9 ms in all.
	gzipAhead = 64 << 10
)

var gzipped = packed{gzipName, gzipAhead, func() connect.Decompressor { return new(gzip.Reader) }, func() connect.Compressor { return gzip.NewWriter(io.Discard) }}

// packing is a client's: it takes all kinds, of at most so many bytes unpacked, and sends the last.
func packing(most int) connect.ClientOption {
	opts := []connect.ClientOption{connect.WithAcceptCompression(gzipName, nil, nil)} // Connect's own
	for _, k := range kinds {
		opts = append(opts, connect.WithAcceptCompression(k.name, k.upTo(most), k.pack))
	}
	return connect.WithClientOptions(append(opts, connect.WithSendCompression(kinds[len(kinds)-1].name))...)
}

// unpacking is a handler's. It takes gzip, too: an agent of the small build sends it.
func unpacking(most int) connect.HandlerOption {
	opts := []connect.HandlerOption{connect.WithCompression(gzipName, nil, nil)}
	for _, k := range kinds {
		opts = append(opts, connect.WithCompression(k.name, k.upTo(most), k.pack))
	}
	return connect.WithHandlerOptions(opts...)
}

func (k packed) upTo(most int) func() connect.Decompressor {
	return func() connect.Decompressor { return &upTo{Decompressor: k.unpack(), most: int64(most), lead: k.ahead} }
}

// upTo fails beyond a byte more than most: Connect asks for that one to see that a message is too long.
type upTo struct {
	connect.Decompressor
	most, left  int64
	lead, ahead int64
}

func (u *upTo) Reset(r io.Reader) error {
	u.left, u.ahead = u.most+1, u.lead
	return u.Decompressor.Reset(feed{r, u}) // and no bytes.Buffer, of which zstd's Reset would unpack all
}

// feed is what u unpacks.
type feed struct {
	r io.Reader
	u *upTo
}

var errHollow = errors.New("it has little in it")

func (f feed) Read(b []byte) (int, error) {
	if f.u.ahead == 0 {
		return 0, errHollow
	}
	n, err := f.r.Read(b[:min(int64(len(b)), f.u.ahead)])
	f.u.ahead -= int64(n)
	return n, err
}

func (u *upTo) Read(b []byte) (int, error) {
	if u.left == 0 {
		return 0, errTooLong
	}
	n, err := u.Decompressor.Read(b[:min(int64(len(b)), u.left)])
	u.left -= int64(n)
	u.ahead += int64(n)
	return n, err
}
