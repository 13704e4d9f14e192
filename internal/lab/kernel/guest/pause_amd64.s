#include "go_asm.h"
#include "textflag.h"

// func outbHeld(port uint16, value uint8, h *hold)
TEXT ·outbHeld(SB), NOSPLIT, $0-16
	MOVW port+0(FP), DX
	MOVB value+2(FP), AX
	MOVQ h+8(FP), BX
	LEAQ held<>(SB), CX
	ADDQ $1, CX
	MOVQ CX, hold_next(BX)
	ADDQ $2, CX
	MOVQ CX, hold_out(BX)
	JMP  held<>(SB)

// As bytes, since outbHeld counts them.
TEXT held<>(SB), NOSPLIT|NOFRAME, $0-0
	BYTE $0xEE              // OUT DX, AL
	BYTE $0xFF; BYTE $0x23  // JMP [RBX], one instruction that is its own target
	RET
