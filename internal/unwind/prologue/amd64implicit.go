package prologue

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Registers that amd64 instructions write without naming them (Intel SDM volume 2).

const (
	inRAX = 1 << 0
	inRDX = 1 << 1
	inRCX = 1 << 2
	inRSI = 1 << 4
	inRDI = 1 << 5
	// amd64Implicit are all that any does: r11 for system calls.
	amd64Implicit = inRAX | inRDX | inRCX | inRSI | inRDI | 1<<11
)

// explicitAMD64 are instructions that write no register but their operands.
var explicitAMD64 = []x86asm.Op{
	x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR,
	x86asm.NOT, x86asm.NEG, x86asm.INC, x86asm.DEC, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ADC, x86asm.SBB,
	x86asm.ROL, x86asm.ROR, x86asm.RCL, x86asm.RCR, x86asm.SHLD, x86asm.SHRD, x86asm.BSF, x86asm.BSR, x86asm.BSWAP, x86asm.BTC, x86asm.BTR,
	x86asm.BTS, x86asm.LZCNT, x86asm.TZCNT, x86asm.POPCNT, x86asm.MOVBE, x86asm.MOVNTI, x86asm.CRC32, x86asm.RDRAND, x86asm.XADD, x86asm.XCHG,
	x86asm.MOVUPS, x86asm.MOVAPS, x86asm.MOVDQA, x86asm.MOVDQU, x86asm.MOVQ, x86asm.MOVSD_XMM, x86asm.MOVSS,
	x86asm.CLC, x86asm.STC, x86asm.CMC, x86asm.CLD, x86asm.STD, x86asm.SAHF, x86asm.EMMS, x86asm.LDMXCSR, x86asm.STMXCSR,
}

// implicitAMD64 are the others, with what they write.
var implicitAMD64 = map[x86asm.Op]uint64{
	x86asm.MUL: inRAX | inRDX, x86asm.IMUL: inRAX | inRDX, x86asm.DIV: inRAX | inRDX, x86asm.IDIV: inRAX | inRDX,
	x86asm.CBW: inRAX, x86asm.CWDE: inRAX, x86asm.CWD: inRDX, x86asm.CDQ: inRDX, x86asm.CQO: inRDX,
	x86asm.CMPXCHG: inRAX, x86asm.RDTSC: inRAX | inRDX, x86asm.PCMPESTRI: inRCX, x86asm.PCMPISTRI: inRCX,
	x86asm.CPUID: amd64Implicit | 1<<RBX, x86asm.CMPXCHG8B: amd64Implicit | 1<<RBX, x86asm.CMPXCHG16B: amd64Implicit | 1<<RBX,
	x86asm.MOVSB: inRSI | inRDI | inRCX, x86asm.MOVSW: inRSI | inRDI | inRCX, x86asm.MOVSD: inRSI | inRDI | inRCX, x86asm.MOVSQ: inRSI | inRDI | inRCX,
	x86asm.CMPSB: inRSI | inRDI | inRCX, x86asm.CMPSW: inRSI | inRDI | inRCX, x86asm.CMPSD: inRSI | inRDI | inRCX, x86asm.CMPSQ: inRSI | inRDI | inRCX,
	x86asm.STOSB: inRDI | inRCX, x86asm.STOSW: inRDI | inRCX, x86asm.STOSD: inRDI | inRCX, x86asm.STOSQ: inRDI | inRCX,
	x86asm.SCASB: inRDI | inRCX, x86asm.SCASW: inRDI | inRCX, x86asm.SCASD: inRDI | inRCX, x86asm.SCASQ: inRDI | inRCX,
	x86asm.LODSB: inRAX | inRSI | inRCX, x86asm.LODSW: inRAX | inRSI | inRCX, x86asm.LODSD: inRAX | inRSI | inRCX, x86asm.LODSQ: inRAX | inRSI | inRCX,
}

// writesAMD64 has what each instruction writes without naming it: all that any does, if that is
// not known.
var writesAMD64 = makeWrites()

// firstVEX is the first operation that has a VEX prefix: those name all that they write.
const firstVEX = x86asm.XTEST + 1

func makeWrites() (out [firstVEX]uint64) {
	for op := range out {
		out[op] = amd64Implicit
	}
	for op, mask := range implicitAMD64 {
		out[op] = mask
	}
	for _, r := range [][2]x86asm.Op{{x86asm.CMOVA, x86asm.CMOVS}, {x86asm.SETA, x86asm.SETS}, {x86asm.F2XM1, x86asm.FYL2XP1}} {
		for op := r[0]; op <= r[1]; op++ {
			out[op] = 0
		}
	}
	for _, op := range explicitAMD64 {
		out[op] = 0
	}
	return out
}

// implicit are the registers that an instruction writes without naming them.
func implicit(in *x86asm.Inst) uint64 {
	switch {
	case in.Op == x86asm.VPCMPESTRI || in.Op == x86asm.VPCMPISTRI:
		return inRCX
	case in.Op >= firstVEX, in.Op == x86asm.IMUL && in.Args[1] != nil:
		return 0
	case in.Op != x86asm.PCMPESTRI && in.Op != x86asm.PCMPISTRI && slices.ContainsFunc(in.Args[:2], isVector):
		return 0
	}
	return writesAMD64[in.Op]
}

func isVector(arg x86asm.Arg) bool {
	r, ok := arg.(x86asm.Reg)
	return ok && r >= x86asm.M0 && r <= x86asm.X15
}
