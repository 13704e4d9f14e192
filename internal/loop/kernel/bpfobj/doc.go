// Package bpfobj holds the compiled eBPF objects and the Go code that bpf2go
// generates to load them. Nothing here is written by hand but this page and
// the generate lines; internal/loop/kernel/enforce is what uses it, and popday/kernel/popworld for the
// lab's rival.
//
// Its trap: the objects are committed, so `go build` needs no clang. After an
// edit under bpf/ run `make generate`; CI regenerates and compares.
package bpfobj

//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror" Congctl ../../../../bpf/congctl.bpf.c
//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror" Sweep ../../../../bpf/sweep.bpf.c
//go:generate go tool bpf2go -target bpfel -cflags "-O2 -g -Wall -Werror" Bandit ../../../../bpf/bandit.bpf.c
