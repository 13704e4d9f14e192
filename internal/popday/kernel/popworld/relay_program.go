package popworld

import (
	"unsafe"

	"github.com/cilium/ebpf/asm"
)

// struct __sk_buff (include/uapi/linux/bpf.h).
const skbProtocol, skbData, skbDataEnd = 16, 76, 80

// kindOfPacket is the place of a network's number in a frame.
type kindOfPacket struct {
	protocol int32 // big-endian, as a little-endian CPU reads it
	at, end  int32 // of the number, of the header
	first    int32 // the number of network 0 (popday/pop.PrefixOf)
}

const ethernet = 14

var (
	packetIPv4 = kindOfPacket{protocol: 0x0008, at: ethernet + 16 + 1, end: ethernet + 20, first: 18 << 8}
	packetIPv6 = kindOfPacket{protocol: 0xdd86, at: ethernet + 24 + 5, end: ethernet + 40, first: 1}
)

// relayProgram returns the program, with the table at a descriptor. Packets for none of
// the networks go up to the hub's own IP, which forwards nothing.
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
		asm.LoadMem(asm.R8, asm.R6, int16(unsafe.Offsetof(l.hit)), asm.Word),
		asm.JEq.Imm(asm.R8, 0, "draw"),
		asm.LoadMem(asm.R7, asm.R6, int16(unsafe.Offsetof(l.again)), asm.Word),
		asm.FnGetPrandomU32.Call().WithSymbol("draw"),
		asm.Mov.Imm(asm.R8, 0),
		asm.JGT.Reg(asm.R0, asm.R7, "came through"),
		asm.Mov.Imm(asm.R8, 1),
		asm.StoreMem(asm.R6, int16(unsafe.Offsetof(l.hit)), asm.R8, asm.Word),
		asm.LoadMem(asm.R1, asm.R6, int16(unsafe.Offsetof(l.lost)), asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R6, int16(unsafe.Offsetof(l.lost)), asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, drop),
		asm.Return(),

		asm.StoreMem(asm.R6, int16(unsafe.Offsetof(l.hit)), asm.R8, asm.Word).WithSymbol("came through"),
		asm.LoadMem(asm.R1, asm.R6, int16(unsafe.Offsetof(l.link)), asm.Word).WithSymbol("hand on"),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
	}
}
