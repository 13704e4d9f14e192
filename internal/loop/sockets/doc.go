// Package sockets writes a dump of TCP sockets for people (a table), for programs
// (JSON lines with every field of the kernel), or as counts. It is not a dumper:
// whoever calls it brings a Source.
//
// The trap: a Source reuses its Sock. What is kept past the call is copied.
package sockets

import "github.com/congctl/congctl/internal/core/inetdiag"

// Source calls visit for each socket, with the name of its network namespace.
type Source func(visit func(netns string, s *inetdiag.Sock)) error
