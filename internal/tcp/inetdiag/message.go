package inetdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

// HeaderLen is sizeof(struct nlmsghdr), bytes.
const HeaderLen = 16

// Types of netlink messages that a socket dump can meet.
const (
	TypeNoop     = 1
	TypeError    = 2
	TypeDone     = 3
	TypeOverrun  = 4
	TypeGetSock  = 18 // TCPDIAG_GETSOCK: the older request, both families in one walk
	TypeByFamily = 20 // SOCK_DIAG_BY_FAMILY
)

// Flags of netlink messages.
const (
	FlagRequest  = 0x1
	FlagMulti    = 0x2
	FlagDumpIntr = 0x10 // the table changed under the dump: it may miss or repeat sockets
	FlagDump     = 0x300
)

// Header is struct nlmsghdr. Len counts the header and the payload, bytes.
type Header struct {
	Len         uint32
	Type, Flags uint16
	Seq, Port   uint32
}

// Message is one netlink message; Data points into the buffer it was read from.
type Message struct {
	Header
	Data []byte
}

// ErrMessage means that a buffer does not hold a whole netlink message where one should
// begin. The rest of that buffer cannot be walked.
var ErrMessage = errors.New("netlink message has a bad length")

// Next splits the first message off a buffer that recvmsg filled.
func Next(buf []byte) (m Message, rest []byte, err error) {
	if len(buf) < HeaderLen {
		return m, nil, fmt.Errorf("%w: %d bytes left, a header has %d", ErrMessage, len(buf), HeaderLen)
	}
	m.Header = Header{
		Len: le.Uint32(buf), Type: le.Uint16(buf[4:]), Flags: le.Uint16(buf[6:]),
		Seq: le.Uint32(buf[8:]), Port: le.Uint32(buf[12:]),
	}
	if m.Len < HeaderLen || uint64(m.Len) > uint64(len(buf)) {
		return m, nil, fmt.Errorf("%w: nlmsg_len %d with %d bytes left", ErrMessage, m.Len, len(buf))
	}
	m.Data = buf[HeaderLen:m.Len]
	return m, buf[min(align4(int(m.Len)), len(buf)):], nil
}

// Errno returns the positive errno that ends a dump, from NLMSG_ERROR or NLMSG_DONE (which
// carries one too if the dump broke off). 0 is success; ok is false if the message is of
// another type or too short to tell.
func (m Message) Errno() (errno int, ok bool) {
	if (m.Type != TypeError && m.Type != TypeDone) || len(m.Data) < 4 {
		return 0, false
	}
	return -int(int32(le.Uint32(m.Data))), true
}

// AppendMessage adds a message with its header and padding.
func AppendMessage(b []byte, h Header, data []byte) []byte {
	h.Len = uint32(HeaderLen + len(data))
	b = le.AppendUint32(b, h.Len)
	b = le.AppendUint16(b, h.Type)
	b = le.AppendUint16(b, h.Flags)
	b = le.AppendUint32(b, h.Seq)
	b = le.AppendUint32(b, h.Port)
	b = append(b, data...)
	return pad4(b, len(data))
}

func align4(n int) int { return (n + 3) &^ 3 }

func pad4(b []byte, n int) []byte {
	for ; n&3 != 0; n++ {
		b = append(b, 0)
	}
	return b
}
