package native

import (
	"slices"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// maxPrologue bounds the instructions that are looked at for a prologue's end, in bytes.
const maxPrologue = 512

// body returns where a function's prologue ends, by the linker's addresses: its entry if it has none.
func (c *Code) body(img codemap.Bound, n *symbols.Native) uint64 {
	if n.Inlined {
		return n.Entry
	}
	i := slices.IndexFunc(n.Ranges, func(r unwind.Range) bool { return r.Contains(n.Entry) })
	if i < 0 {
		return n.Entry
	}
	end := min(n.Ranges[i].End, n.Entry+maxPrologue)
	arch, rows := img.File.Arch(), img.File.NativeRows(n.Entry, end)
	if len(rows) < 2 {
		code := img.File.Code(n.Entry, int(end-n.Entry))
		return n.Entry + uint64(frameSize(arch, code))
	}
	at := byRows(rows, n.Entry, n.Held)
	if code := img.File.Code(n.Entry, int(at-n.Entry)); leaves(arch, code) {
		return n.Entry
	}
	return at
}

// byRows returns where the line table says that a prologue ends.
func byRows(rows []dwarfline.Row, entry uint64, held bool) uint64 {
	for i := range rows {
		if rows[i].PrologueEnd && rows[i].Addr >= entry {
			return rows[i].Addr
		}
	}
	if !held && len(rows) > 1 && rows[0].Addr <= entry {
		return max(rows[1].Addr, entry)
	}
	return entry
}

// leaves says whether code may call or jump: a prologue does not.
func leaves(arch unwind.Arch, code []byte) bool {
	for at := 0; at < len(code); {
		n, leaves := instructionKind(arch, code[at:])
		if n == 0 || n > len(code)-at || leaves {
			return true
		}
		at += n
	}
	return false
}

// instructionKind returns an instruction's length, 0 if it is not known, and whether code may go on elsewhere.
func instructionKind(arch unwind.Arch, code []byte) (n int, leaves bool) {
	switch arch {
	case unwind.AMD64:
		inst, err := x86asm.Decode(code, 64)
		if err != nil { // one that it does not know, which does not jump
			return max(0, prologue.LengthAMD64(code)), false
		}
		switch inst.Op {
		case x86asm.CALL, x86asm.LCALL, x86asm.RET, x86asm.LRET, x86asm.JMP, x86asm.LJMP, x86asm.SYSCALL, x86asm.HLT, x86asm.UD2:
			return inst.Len, true
		}
		_, relative := inst.Args[0].(x86asm.Rel)
		return inst.Len, relative
	case unwind.ARM64:
		inst, err := arm64asm.Decode(code)
		if err != nil {
			return 0, false
		}
		switch inst.Op {
		case arm64asm.B, arm64asm.BL, arm64asm.BR, arm64asm.BLR, arm64asm.RET, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ, arm64asm.SVC:
			return 4, true
		}
		return 4, false
	}
	return 0, false
}
