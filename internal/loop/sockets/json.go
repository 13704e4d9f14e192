package sockets

// One JSON object for each socket. The head has the fields of inet_diag_msg; each
// attribute that the kernel sent is an object of its own, named for the kernel's
// struct, so that retrans, min_rtt_us and state of different structs do not
// collide. Names are the kernel's, with the unit at the end where there is one.
// Missing attributes are missing keys; fields beyond tcp_info's Len are left out,
// because a kernel that does not know a counter has not counted zero.

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// EachJSON calls add with the JSON object of each socket, which is valid until the next
// call. After the first error of add it calls add no more and returns that error.
func EachJSON(from Source, add func(object []byte) error) error {
	var object []byte
	var broken error
	err := from(func(netns string, s *inetdiag.Sock) {
		if broken == nil {
			object = AppendJSON(object[:0], netns, s)
			broken = add(object)
		}
	})
	if broken != nil {
		return fmt.Errorf("write sockets: %w", broken)
	}
	return err
}

// object appends members, with commas between them.
type object struct {
	b     []byte
	first bool
}

func (o *object) key(name string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) open(name string)        { o.key(name); o.b = append(o.b, '{'); o.first = true }
func (o *object) close()                  { o.b = append(o.b, '}'); o.first = false }
func (o *object) uint(k string, v uint64) { o.key(k); o.b = strconv.AppendUint(o.b, v, 10) }
func (o *object) bool(k string, v bool)   { o.key(k); o.b = strconv.AppendBool(o.b, v) }

func (o *object) text(k, v string) {
	o.key(k)
	o.b = append(o.b, '"')
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			o.b = append(o.b, '\\', byte(r))
		case r < ' ':
			o.b = fmt.Appendf(o.b, `\u%04x`, r)
		default:
			o.b = utf8.AppendRune(o.b, r)
		}
	}
	o.b = append(o.b, '"')
}

// AppendJSON adds one socket as a JSON object, no newline.
func AppendJSON(b []byte, netns string, s *inetdiag.Sock) []byte {
	o := object{b: append(b, '{'), first: true}
	o.text("netns", netns)
	o.head(s)
	if s.Has&inetdiag.HasCong != 0 {
		o.key("cong")
		o.b = append(o.b, '"')
		o.b = appendCong(o.b, s.Cong)
		o.b = append(o.b, '"')
	}
	if s.Has&inetdiag.HasInfo != 0 {
		o.open("tcp_info")
		o.uint("len", uint64(s.Info.Len))
		o.members(infoMembers, &s.Info, s.Info.Len)
		o.close()
	}
	o.part(s.Has&inetdiag.HasBBR != 0, "bbr_info", bbrMembers, &s.BBR)
	o.part(s.Has&inetdiag.HasVegas != 0, "vegas_info", vegasMembers, &s.Vegas)
	o.part(s.Has&inetdiag.HasDCTCP != 0, "dctcp_info", dctcpMembers, &s.DCTCP)
	o.part(s.Has&inetdiag.HasMem != 0, "meminfo", memMembers, &s.Mem)
	o.part(s.Has&inetdiag.HasSKMem != 0, "skmeminfo", skMemMembers, &s.SKMem)
	o.options(s)
	o.close()
	return o.b
}

func (o *object) head(s *inetdiag.Sock) {
	family := "inet"
	if s.Family == inetdiag.FamilyInet6 {
		family = "inet6"
	}
	o.text("family", family)
	o.text("state", inetdiag.StateName(s.State))
	o.key("local")
	local := s.Local.Addr()
	if local.IsLinkLocalUnicast() { // of two links both may have it
		local = local.WithZone(linkOf(s))
	}
	o.b = append(local.AppendTo(append(o.b, '"')), '"')
	o.uint("local_port", uint64(s.Local.Port()))
	o.key("remote")
	o.b = append(s.Remote.Addr().AppendTo(append(o.b, '"')), '"')
	o.uint("remote_port", uint64(s.Remote.Port()))
	o.uint("interface", uint64(s.Interface))
	if link := linkOf(s); link != "" {
		o.text("link", link)
	}
	o.uint("cookie", s.Cookie)
	o.uint("timer", uint64(s.Timer))
	o.uint("retrans", uint64(s.Retrans))
	o.uint("expires_ms", uint64(s.ExpiresMs))
	o.uint("rqueue", uint64(s.Rqueue))
	o.uint("wqueue", uint64(s.Wqueue))
	o.uint("uid", uint64(s.UID))
	o.uint("inode", uint64(s.Inode))
}

// part writes an attribute that the kernel sent.
func (o *object) part(sent bool, name string, list []member, of any) {
	if sent {
		o.open(name)
		o.members(list, of, math.MaxInt)
		o.close()
	}
}

func (o *object) options(s *inetdiag.Sock) {
	number := func(has inetdiag.Attrs, name string, v uint64) {
		if s.Has&has != 0 {
			o.uint(name, v)
		}
	}
	number(inetdiag.HasTOS, "tos", uint64(s.TOS))
	number(inetdiag.HasTClass, "tclass", uint64(s.TClass))
	number(inetdiag.HasShutdown, "shutdown", uint64(s.Shutdown))
	if s.Has&inetdiag.HasV6Only != 0 {
		o.bool("v6_only", s.V6Only)
	}
	number(inetdiag.HasMark, "mark", uint64(s.Mark))
	number(inetdiag.HasCgroupID, "cgroup_id", s.CgroupID)
	number(inetdiag.HasClassID, "class_id", uint64(s.ClassID))
	if s.Has&inetdiag.HasULP != 0 {
		o.open("ulp_info")
		o.text("name", s.ULP.Name.String())
		o.bool("mptcp", s.ULP.MPTCP)
		o.bool("tls", s.ULP.TLS)
		o.close()
	}
	number(inetdiag.HasSockOpt, "sock_opt", uint64(s.SockOpt))
	if s.Has&inetdiag.HasStorage != 0 {
		o.text("storage", hex.EncodeToString(s.Storage))
	}
	if s.Has&inetdiag.HasUnknown != 0 {
		o.bool("unknown_attributes", true)
	}
}

func linkOf(s *inetdiag.Sock) string { return string(appendCong(nil, s.Link)) }

// appendCong writes a name without making a string of it; the kernel allows only printable
// names, so anything else is replaced.
func appendCong(b []byte, c inetdiag.Cong) []byte {
	for _, ch := range c {
		switch {
		case ch == 0:
			return b
		case ch < ' ' || ch > '~' || ch == '"' || ch == '\\':
			ch = '?'
		}
		b = append(b, ch)
	}
	return b
}
