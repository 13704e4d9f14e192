package sample

// A dump is one request and a stream of chunks up to NLMSG_DONE. What can go
// wrong in between is counted and costs as little as possible:
//
//   - a malformed socket message: that socket, never its neighbours;
//   - a bad nlmsg_len: the rest of that chunk, there is no way to resynchronise;
//   - NLM_F_DUMP_INTR (the table changed in a way that the walk noticed), a chunk
//     larger than the buffer, a receive queue overrun: the walk goes on to its
//     end, then the whole dump is repeated once. The visitor sees the sockets of
//     the first pass again and tells them apart by cookie. If the second pass is
//     interrupted too, the result stands and Stats says so: the next poll is near.
//
// The kernel resumes a walk at (bucket, position). A socket that disappears between two
// chunks shifts its bucket, so a neighbour may be missed once; the kernel does not flag
// this, and no reader of inet_diag can see it.
//
// Source: netlink_dump() in net/netlink/af_netlink.c, inet_diag_dump_icsk() in
// net/ipv4/inet_diag.c.

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Stats counts what one or more dumps met.
type Stats struct {
	Sockets     uint64 // handed to the visitor, both passes of a repeated dump
	Repeated    uint64 // of these, in a pass that was then repeated: Sockets - Repeated are distinct
	Malformed   uint64 // messages, or rests of chunks, that could not be decoded
	Interrupted uint64 // passes that the kernel marked NLM_F_DUMP_INTR
	Truncated   uint64 // chunks larger than the read buffer
	Overruns    uint64 // ENOBUFS: the kernel dropped messages for want of receive buffer
	Retried     uint64 // dumps repeated for one of the three reasons above
	Stale       uint64 // messages of an earlier dump, skipped
	Unknown     uint64 // messages of a type that is no socket, skipped
	NewAttrs    uint64 // sockets with an attribute that this version does not know
	Reads       uint64
	Bytes       uint64
}

// Add sums two counts.
func (s *Stats) Add(o Stats) {
	s.Sockets += o.Sockets
	s.Repeated += o.Repeated
	s.Malformed += o.Malformed
	s.Interrupted += o.Interrupted
	s.Truncated += o.Truncated
	s.Overruns += o.Overruns
	s.Retried += o.Retried
	s.Stale += o.Stale
	s.Unknown += o.Unknown
	s.NewAttrs += o.NewAttrs
	s.Reads += o.Reads
	s.Bytes += o.Bytes
}

// Dumper dumps the TCP sockets of the namespace it was opened in, from whatever
// thread. It is for one goroutine at a time.
type Dumper struct {
	sock *socket
	seq  uint32
	req  []byte
	out  inetdiag.Sock
}

// Open makes a dumper in the namespace that a path names (/run/netns/x,
// /proc/1/ns/net); "" is the calling thread's own and needs no privilege.
// Without CAP_NET_ADMIN the kernel leaves out marks and details of ULPs.
func Open(path string) (*Dumper, error) {
	if path == "" {
		return openDumper()
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open network namespace %s: %w", path, err)
	}
	defer unix.Close(fd)
	var d *Dumper
	err = nsthread.Run(fd, func() error {
		var err error
		d, err = openDumper()
		return err
	})
	return d, err
}

func openDumper() (*Dumper, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("open dumper: big-endian hosts are not supported: their bit fields in tcp_info differ")
	}
	s, err := openSocket()
	if err != nil {
		return nil, err
	}
	return &Dumper{sock: s}, nil
}

// Close frees the socket.
func (d *Dumper) Close() error { return d.sock.close() }

// Dump hands every socket that the request selects to visit. It reuses the Sock: copy what
// must outlive the call. On an error the counts so far stand.
func (d *Dumper) Dump(req inetdiag.Request, visit func(*inetdiag.Sock)) (Stats, error) {
	var st Stats
	again, err := d.pass(req, visit, &st)
	if again && err == nil {
		st.Retried++
		st.Repeated = st.Sockets
		_, err = d.pass(req, visit, &st)
	}
	if err != nil {
		return st, fmt.Errorf("dump sockets: %w", err)
	}
	return st, nil
}

func (d *Dumper) pass(req inetdiag.Request, visit func(*inetdiag.Sock), st *Stats) (again bool, err error) {
	d.seq++
	d.req = req.Append(d.req[:0], d.seq)
	if err := d.sock.send(d.req); err != nil {
		return false, fmt.Errorf("send request: %w", err)
	}
	var interrupted, done bool
	for !done {
		data, size, err := d.sock.read()
		switch {
		case err == unix.ENOBUFS:
			st.Overruns++
			again = true
			continue
		case err == unix.EAGAIN:
			return again, fmt.Errorf("read answer: none within %v", silence)
		case err != nil:
			return again, fmt.Errorf("read answer: %w", err)
		}
		st.Reads++
		st.Bytes += uint64(len(data))
		intr, end, err := d.chunk(data, size > len(data), visit, st)
		if err != nil {
			return again, err
		}
		interrupted, done = interrupted || intr, end
		if size > len(d.sock.buf) {
			st.Truncated++
			again = true
			d.sock.grow(size)
		}
	}
	if interrupted {
		st.Interrupted++
	}
	return again || interrupted, nil
}

func (d *Dumper) chunk(b []byte, cut bool, visit func(*inetdiag.Sock), st *Stats) (intr, done bool, err error) {
	for len(b) > 0 {
		m, rest, err := inetdiag.Next(b)
		if err != nil {
			if !cut { // a cut chunk is counted as such
				st.Malformed++
			}
			return intr, done, nil
		}
		b = rest
		if m.Seq != d.seq {
			st.Stale++
			continue
		}
		intr = intr || m.Flags&inetdiag.FlagDumpIntr != 0
		switch m.Type {
		case inetdiag.TypeGetSock, inetdiag.TypeByFamily:
			d.one(m.Data, visit, st)
		case inetdiag.TypeDone, inetdiag.TypeError:
			errno, ok := m.Errno()
			if ok && errno != 0 {
				return intr, true, unix.Errno(errno)
			}
			if !ok {
				st.Malformed++
			}
			done = done || m.Type == inetdiag.TypeDone
		case inetdiag.TypeNoop:
		default:
			st.Unknown++
		}
	}
	return intr, done, nil
}

func (d *Dumper) one(data []byte, visit func(*inetdiag.Sock), st *Stats) {
	if inetdiag.Decode(data, &d.out) != nil {
		st.Malformed++
		return
	}
	st.Sockets++
	if d.out.Has&inetdiag.HasUnknown != 0 {
		st.NewAttrs++
	}
	visit(&d.out)
}
