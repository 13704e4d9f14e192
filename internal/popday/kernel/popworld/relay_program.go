package pop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// struct __sk_buff (include/uapi/linux/bpf.h).
const skbProtocol, skbData, skbDataEnd = 16, 76, 80

// kindOfPacket says where a network's number stands in a frame.
type kindOfPacket struct {
	protocol int32 // big-endian, as a little-endian CPU reads it
	at, end  int32 // of the number, of the header
	first    int32 // the number of network 0 (core/pop.PrefixOf)
}

const ethernet = 14

var (
	packetIPv4 = kindOfPacket{protocol: 0x0008, at: ethernet + 16 + 1, end: ethernet + 20, first: 18 << 8}
	packetIPv6 = kindOfPacket{protocol: 0xdd86, at: ethernet + 24 + 5, end: ethernet + 40, first: 1}
)

// relayProgram is the program, with the table at a descriptor. What is for none of the
// networks goes up to the hub's own IP, which forwards nothing.
func relayProgram(table int) asm.Instructions {
	p := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, skbData, asm.Word),
		asm.LoadMem(asm.R3, asm.R1, skbDataEnd, asm.Word),
		asm.LoadMem(asm.R4, asm.R1, skbProtocol, asm.Word),
		asm.JEq.Imm(asm.R4, packetIPv4.protocol, "ipv4"),
		asm.JNE.Imm(asm.R4, packetIPv6.protocol, "pass"),
	}
	p = append(p, packetIPv6.number()...)
	p = append(p, asm.Ja.Label("find"))
	ipv4 := packetIPv4.number()
	ipv4[0] = ipv4[0].WithSymbol("ipv4")
	p = append(p, ipv4...)
	return append(append(append(p, findLane(table)...), loseOrHandOn()...),
		asm.Mov.Imm(asm.R0, passOn).WithSymbol("pass"),
		asm.Return())
}

// TC_ACT_OK and TC_ACT_SHOT.
const passOn, drop = 0, 2

// number leaves the network's number in R5.
func (k kindOfPacket) number() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R5, asm.R2),
		asm.Add.Imm(asm.R5, k.end),
		asm.JGT.Reg(asm.R5, asm.R3, "pass"),
		asm.LoadMem(asm.R5, asm.R2, int16(k.at), asm.Half),
		asm.HostTo(asm.BE, asm.R5, asm.Half),
		asm.Sub.Imm(asm.R5, k.first),
	}
}

// findLane leaves the network's lane in R6.
func findLane(table int) asm.Instructions {
	return asm.Instructions{
		asm.StoreMem(asm.RFP, -4, asm.R5, asm.Word).WithSymbol("find"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, table),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.Mov.Reg(asm.R6, asm.R0),
	}
}

func loseOrHandOn() asm.Instructions {
	var l lane
	return asm.Instructions{
		asm.LoadMem(asm.R7, asm.R6, int16(unsafe.Offsetof(l.loss)), asm.Word),
		asm.JEq.Imm(asm.R7, 0, "hand on"),
		asm.FnGetPrandomU32.Call(),
		asm.JGT.Reg(asm.R0, asm.R7, "hand on"),
		asm.LoadMem(asm.R1, asm.R6, int16(unsafe.Offsetof(l.lost)), asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R6, int16(unsafe.Offsetof(l.lost)), asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, drop),
		asm.Return(),

		asm.LoadMem(asm.R1, asm.R6, int16(unsafe.Offsetof(l.link)), asm.Word).WithSymbol("hand on"),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
	}
}

// makeTable makes an array of lanes that a program and this process share.
func makeTable(lanes int) (int, error) {
	const create, array, mappable = 0, 2, 1 << 10 // BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE
	request := struct {
		kind, key, value, entries, flags uint32
		rest                             [108]byte
	}{kind: array, key: 4, value: uint32(unsafe.Sizeof(lane{})), entries: uint32(lanes), flags: mappable}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, create, uintptr(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	if errno != 0 {
		return -1, fmt.Errorf("make table of lanes: %w", errno)
	}
	return int(fd), nil
}

// loadClassifier loads a program for a filter. The usual library would first read
// /proc/self, which is not there once a runtime has given up its first thread.
func loadClassifier(program asm.Instructions) (int, error) {
	const load, schedCLS = 5, 3 // BPF_PROG_LOAD, BPF_PROG_TYPE_SCHED_CLS
	var code bytes.Buffer
	if err := program.Marshal(&code, binary.LittleEndian); err != nil {
		return -1, fmt.Errorf("load relay: %w", err)
	}
	license := []byte("Apache-2.0\x00")
	request := struct { // the head of union bpf_attr
		kind, length     uint32
		program, license unsafe.Pointer
		rest             [96]byte
	}{kind: schedCLS, length: uint32(code.Len() / asm.InstructionSize), program: unsafe.Pointer(unsafe.SliceData(code.Bytes())), license: unsafe.Pointer(unsafe.SliceData(license))}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, load, uintptr(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	runtime.KeepAlive(&code)
	runtime.KeepAlive(license)
	if errno != 0 {
		return -1, fmt.Errorf("load relay: %w", errno)
	}
	return int(fd), nil
}
