// Package bpfobj holds the compiled eBPF objects and the Go code that bpf2go
// generates to load them. Nothing here is written by hand but this page and
// the generate lines; internal/loop/kernel/enforce is what uses it, and popday/kernel/popworld for the
// lab's rival.
//
// Its trap: the objects are committed, so `go build` needs no clang. After an
// edit under bpf/ run `make generate`; CI regenerates and compares.
//
// What runs in a callback is compiled for the third instruction set (Linux 5.1: 32-bit registers
// and jumps), which saves some 5 ns of each.
package bpfobj

//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror -mcpu=v3" Congctl ../../../../bpf/congctl.bpf.c
//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror -mcpu=v3" Sweep ../../../../bpf/sweep.bpf.c
//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror" Bandit ../../../../bpf/bandit.bpf.c
