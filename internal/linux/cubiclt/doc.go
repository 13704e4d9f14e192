// Package cubiclt has cubic_lt, loss-tolerant CUBIC (docs/cubic-lt.md), and registers it as a congestion control of the
// running kernel: a struct_ops program over the kernel's own CUBIC. Its C is in the folder c, under the GPL: the algorithm
// in one header, and its two forms, struct_ops and a file of the kernel itself, which the lab's kernel is built with.
//
// It moves no connection and sets no default.
//
// Its trap: what is unregistered goes on. Connections that use cubic_lt keep it until they close or are set to another one;
// only the name is gone, and new connections cannot have it.
package cubiclt

import "embed"

//go:generate go tool bpf2go -no-global-types -target bpfel -cflags "-O2 -g -Wall -Werror -mcpu=v3" CubicLT c/cubic_lt.bpf.c

//go:embed c/cubic_lt.h c/tcp_cubic_lt.c
var files embed.FS

// KernelSource returns the files of cubic_lt as a part of a kernel, for net/ipv4 of its source, by name.
func KernelSource() map[string][]byte {
	source := map[string][]byte{}
	for _, name := range []string{"cubic_lt.h", "tcp_cubic_lt.c"} {
		text, err := files.ReadFile("c/" + name)
		if err != nil {
			panic(err) // embedded files can be read
		}
		source[name] = text
	}
	return source
}
