package values

import (
	"debug/dwarf"
	"errors"
	"strings"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

var errNotStored = errors.New("the function has only begun, and has not stored it there yet")

const (
	opFrameBase = 0x91 // DW_OP_fbreg
	opCFA       = 0x9c // DW_OP_call_frame_cfa
)

// notStored says that a variable's one place is in the function's frame, and that the function is still within its first instructions, which make the
// frame and store the arguments there: DWARF's place is wrong until then.
//
// Situation: without optimization compilers give a variable one place for the whole function. Example: gcc and clang with -O0, a stop at
// a function's first instruction; with clang the frame base is the register that the function sets first. What was passed on
// the stack is there from the beginning, where the frame base is the CFA. Test: TestPrologueValues (integration/dap).
func (f *Frame) notStored(at *dwarfline.Entry, code []byte) bool {
	s := f.stack
	if code[0] != opFrameBase || s.frames[f.in].PC.Kind() == unwind.KindReturn || f.scope != f.function {
		return false
	}
	if _, whole, err := at.Block(dwarf.AttrLocation); err != nil || !whole {
		return false // a list says where it holds
	}
	begin, ok := f.function.Begin()
	if !ok || f.addr < begin || f.addr-begin > maxPrologue {
		return false
	}
	end := f.bodyAt(begin)
	if f.addr >= end {
		return false
	}
	off, ok := signedAt(code[1:])
	if !ok {
		return true
	}
	base, has, err := f.function.Block(dwarf.AttrFrameBase)
	if err != nil || !has || len(base) != 1 {
		return true
	}
	switch base[0] {
	case opCFA:
		return off < 0
	case opReg0 + byte(f.stack.Arch.SP()):
		height, known := f.height(end)
		return !known || off < height
	}
	return true
}

// bodyAt is where a function's body begins behind its first instructions: where the compiler says it, else at the second row of its lines.
func (f *Frame) bodyAt(begin uint64) uint64 {
	rows := f.at.Table.RowsIn(begin, begin+maxPrologue)
	next := uint64(0)
	for i := range rows {
		switch r := &rows[i]; {
		case r.PrologueEnd && f.coveredBy(r.Addr):
			return r.Addr
		case r.Addr > begin && next == 0:
			next = r.Addr
		}
	}
	return max(next, begin)
}

func (f *Frame) coveredBy(addr uint64) bool {
	covers, _, err := f.function.Covers(addr)
	return err == nil && covers
}

// signedAt reads a number with sign that is all of data.
func signedAt(data []byte) (n int64, ok bool) {
	for i, b := range data {
		if i == 9 {
			break
		}
		n |= int64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			if b&0x40 != 0 {
				n |= -1 << (7 * (i + 1))
			}
			return n, i == len(data)-1
		}
	}
	return 0, false
}

const (
	maxPrologue = 512  // bytes of code
	opReg0      = 0x50 // DW_OP_reg0
)

var errNoFrame = errors.New("the function has not made its frame yet, or has left it already: DWARF's place is that of its body")

// madeFrame says whether the register that a function's frame base is holds it where the frame stands.
//
// Situation: DWARF has one frame base for the whole function, and its first and last instructions have another. Example: clang, -O0, behind pop %rbp; -O2,
// before ret. The frame pointer lies two words below the CFA, as the ABI has it; the stack pointer's height is that of the body. Test: TestPrologueValues
// (integration/dap).
func (f *Frame) madeFrame(reg uint64) error {
	s := f.stack
	switch {
	case reg == uint64(s.Arch.FP()) && s.Arch == unwind.AMD64:
		cfa, err := f.CFA()
		if err != nil {
			return nil
		}
		data, err := s.register(f.in, reg)
		if err == nil && f.Order().Uint64(data)+16 != cfa {
			return errNoFrame
		}
		return err
	case s.frames[f.in].PC.Kind() == unwind.KindReturn: // at a call, which is in the body
	case reg == uint64(s.Arch.SP()):
		begin, ok := f.function.Begin()
		if !ok {
			return nil
		}
		here, known := f.height(f.addr)
		body, alike := f.height(f.bodyAt(begin))
		if known && alike && here != body {
			return errNoFrame
		}
	}
	return nil
}

// inFrame says whether a place that counts from the frame's registers holds where the frame stands.
//
// Situation: LLVM's lists of places go on into a function's last instructions, which have taken the frame down. Example: clang -O2, a double that is
// spilled, between add $n, %rsp and ret. Test: TestPrologueValues (integration/dap).
func (f *Frame) inFrame(v *Value, at *dwarfline.Entry, code []byte) error {
	if code[0] < opBreg0 || code[0] >= opBreg0+32 || !f.OnStack(uint64(code[0]-opBreg0)) || !f.ByLLVM() {
		return nil
	}
	if isMisplaced(code[1:]) {
		return errMisplaced
	}
	if _, whole, err := at.Block(dwarf.AttrLocation); err == nil && !whole && v.isWide() {
		return errHalf
	}
	return f.madeFrame(uint64(code[0] - opBreg0))
}

var errMisplaced = errors.New("DWARF adds to a place on the stack what belongs to the pointer that is there: a fault of the compiler's")

var errHalf = errors.New("DWARF gives a place to one half of it, and says that it is of the whole: a fault of the compiler's")

// isWide says whether a value is an integer of more bytes than a register has.
//
// Situation: LLVM keeps such a number in two registers, of which a list of places names one, and then the place on the stack to which that
// was spilled, without saying that it is a piece. Example: clang 14 -Og, an __int128 that is passed partly on the stack: DW_OP_reg9, later DW_OP_breg7 56. Test:
// TestValues (integration/dap).
func (v *Value) isWide() bool {
	u, err := v.typ.Under()
	return err == nil && u.IsInteger() && u.Size > 8
}

// isMisplaced says whether an expression goes on from a register's offset with another, and then reads there.
//
// Situation: LLVM keeps a pointer to a variable on the stack, with an offset, and has the two the wrong way round. Example: clang 14 -O1, a long double that was
// passed in memory: DW_OP_breg7 136, DW_OP_plus_uconst 304, DW_OP_deref. Test: TestMisplaced.
func isMisplaced(rest []byte) bool {
	const plusUconst, deref = 0x23, 0x06
	skip := func() {
		for len(rest) > 0 && rest[0]&0x80 != 0 {
			rest = rest[1:]
		}
		rest = rest[min(1, len(rest)):]
	}
	skip()
	if len(rest) == 0 || rest[0] != plusUconst {
		return false
	}
	rest = rest[1:]
	skip()
	return len(rest) > 0 && rest[0] == deref
}

// ByLLVM implements [location.Context].
func (f *Frame) ByLLVM() bool {
	if f.function == nil {
		return false
	}
	unit, err := f.function.Unit()
	if err != nil {
		return false
	}
	by := unit.Text(dwarf.AttrProducer)
	return strings.Contains(by, "clang") || strings.Contains(by, "LLVM") || strings.Contains(by, "rustc")
}

const opBreg0 = 0x70 // DW_OP_breg0

// height is how far the stack pointer is below the CFA at an address of the file, as the code says.
func (f *Frame) height(addr uint64) (int64, bool) {
	model, bias := f.stack.Code.Model(unwind.LookupAddr(addr + f.at.Bias))
	if model == nil {
		return 0, false
	}
	fn := model.At(addr + f.at.Bias - bias)
	if fn == nil {
		return 0, false
	}
	place, ok := fn.At(addr + f.at.Bias - bias)
	return place.Height, ok && place.Height >= 0
}
