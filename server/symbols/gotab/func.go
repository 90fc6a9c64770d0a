package gotab

// Flag describes properties that matter to an unwinder (abi.FuncFlag).
type Flag uint8

const (
	// FlagTopFrame marks the outermost function of a stack: runtime.goexit,
	// runtime.mstart, runtime.rt0_go and the like. A walk that reaches it is
	// complete.
	FlagTopFrame Flag = 1 << iota
	// FlagSPWrite marks a function that sets SP to something other than SP plus
	// a constant. Its SP deltas say nothing about its caller.
	FlagSPWrite
	// FlagAsm marks a function written in assembly: it need not keep a frame
	// pointer.
	FlagAsm
)

// TopFrame reports whether the walk ends here.
func (f Flag) TopFrame() bool { return f&FlagTopFrame != 0 }

// Asm reports whether the function was written in assembly.
func (f Flag) Asm() bool { return f&FlagAsm != 0 }

// A Func is one function of a [Table], a physical one: code that was inlined
// into it belongs to it. The zero Func contains no address.
type Func struct {
	Entry     uint64 // address of the first instruction
	End       uint64 // address of the next function, so padding is included
	StartLine int32  // line of the func keyword or TEXT directive
	Flag      Flag

	t         *Table
	rec       uint32 // offset of the runtime._func in t.funcs
	nameOff   uint32
	pcsp      uint32
	pcfile    uint32
	pcln      uint32
	npcdata   uint32
	cuOffset  uint32
	nfuncdata uint8
}

// Name is the full name, type arguments written out, "" if the table holds
// none. It allocates; [Func.NameIs] does not.
func (f Func) Name() string {
	if f.t == nil {
		return ""
	}
	return string(cstring(f.t.names, uint64(f.nameOff)))
}

// NameIs reports whether the function has the given name, without allocating.
func (f Func) NameIs(name string) bool {
	return f.t != nil && string(cstring(f.t.names, uint64(f.nameOff))) == name
}

// HasTables is false for a C function that Go's internal linker took into the
// table: it has a name and bounds, but neither SP deltas nor lines.
func (f Func) HasTables() bool { return f.pcsp != 0 }

// Contains reports whether pc lies in [Entry, End).
func (f Func) Contains(pc uint64) bool { return pc >= f.Entry && pc < f.End }

// SPDelta is the distance in bytes from SP before the instruction at pc up to
// SP at the function's entry (see the package comment). ok is false where the
// table does not say: outside the function, in the padding behind it, in a C
// function, or if the table is corrupt. It allocates nothing.
func (f Func) SPDelta(pc uint64) (delta int32, ok bool) { return f.pcvalue(f.pcsp, pc) }

// FileLine is the source position of the instruction at pc: within inlined code
// that of the innermost inlined function.
func (f Func) FileLine(pc uint64) (file string, line int, ok bool) {
	n, ok := f.pcvalue(f.pcln, pc)
	if !ok || n < 0 {
		return "", 0, false
	}
	fileno, ok := f.pcvalue(f.pcfile, pc)
	if !ok {
		return "", 0, false
	}
	name := f.fileName(fileno)
	if name == nil {
		return "", 0, false
	}
	return string(name), int(n), true
}

// fileName returns the name of the file with this number in the function, nil if the function has no such file.
func (f Func) fileName(number int32) []byte {
	at := (uint64(f.cuOffset) + uint64(number)) * 4
	if size := uint64(len(f.t.cutab)); number < 0 || size < 4 || at > size-4 {
		return nil
	}
	return cstring(f.t.files, uint64(f.t.order.Uint32(f.t.cutab[at:]))) // ^0: a file that the linker dropped
}
