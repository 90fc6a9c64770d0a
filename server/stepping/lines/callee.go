package lines

import "github.com/clewdbg/clew/internal/unwind/prologue"

// callee is what a call leads to: a function that a step into ends in or that is glue; or, if it is not bound yet, the jump by
// which the dynamic linker goes on when it has bound it. Else it is passed.
type callee struct {
	fn    Function
	later uint64
}

func (c *callee) passed() bool { return c.fn.Body == 0 && !c.fn.Glue && c.later == 0 }

const (
	maxHops   = 8   // tables and thunks in a row
	maxThunk  = 16  // instructions of one
	maxBinder = 400 // instructions of the dynamic linker's entry
)

// callee finds what code at an address leads to, through linkage tables and code that only jumps on.
func (w *walker) callee(at uint64, th Thread) (c callee) {
	for range maxHops {
		fn, ok := w.code.Function(at)
		if ok && at == fn.Entry && (fn.Body != 0 || fn.Glue) {
			return callee{fn: fn}
		}
		to, pushed, ok := w.thunk(at, th)
		if !ok {
			return callee{}
		}
		if pushed { // an entry of a table that is not bound
			return callee{later: w.binder(to)}
		}
		at = to
	}
	return callee{}
}

// thunk returns where code goes on that only jumps. pushed says that it is what the dynamic linker binds functions by.
func (w *walker) thunk(at uint64, th Thread) (to uint64, pushed, ok bool) {
	for range maxThunk {
		in, code := w.decode(at)
		switch in.Flow {
		case prologue.FlowNext:
			pushed = pushed || w.pushes(code)
			at += uint64(in.Len)
			continue
		case prologue.FlowJump:
			if !pushed {
				return in.Target, false, true
			}
			at = in.Target // to the table's first entry
			continue
		case prologue.FlowJumpIndirect:
			if in.Pointer != 0 {
				to, ok = th.Word(in.Pointer)
				return to, pushed, ok && to != 0
			}
		}
		break
	}
	return 0, false, false
}

// pushes says whether an instruction is the push by which an entry of a linkage table tells the dynamic linker what to bind
// (System V ABI, AMD64 supplement, "Procedure Linkage Table"; ELF for the Arm 64-bit architecture: stp x16, x30, [sp, #-16]!).
func (w *walker) pushes(code []byte) bool {
	if len(code) < 4 {
		return false
	}
	return code[0] == 0x68 || code[0] == 0xff && code[1] == 0x35 ||
		code[0] == 0xf0 && code[1] == 0x7b && code[2] == 0xbf && code[3] == 0xa9
}

// binder returns the jump by which the dynamic linker's function goes on that binds functions, 0 if it has none.
func (w *walker) binder(at uint64) uint64 {
	for range maxBinder {
		in, _ := w.decode(at)
		switch in.Flow {
		case prologue.FlowJumpIndirect:
			return at
		case prologue.FlowUnknown, prologue.FlowReturn, prologue.FlowStop:
			return 0
		case prologue.FlowJump:
			at = in.Target
		default:
			at += uint64(in.Len)
		}
	}
	return 0
}
