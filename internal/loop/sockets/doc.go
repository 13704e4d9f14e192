// Package sockets writes a dump of TCP sockets for people (a table), for programs
// (JSON objects with every field of the kernel), or as counts, and connection records
// with the same keys. It is not a dumper: the caller brings a Source.
//
// The trap: a Source reuses its Sock. Copy what must outlive the call.
package sockets

import "github.com/congctl/congctl/internal/tcp/inetdiag"

// Source calls visit for each socket, with the name of its network namespace.
type Source func(visit func(netns string, s *inetdiag.Sock)) error
