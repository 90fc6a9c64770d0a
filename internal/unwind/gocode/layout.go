package gocode

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// Layout is what stacks need of the layout of runtime.g and runtime.m: offsets of
// fields, in bytes.
type Layout struct {
	TLS                       int64 // where the thread's g is, from the TLS base on
	StackLo, StackHi, M       int64 // of runtime.g
	SchedPC, SchedSP, SchedBP int64
	G0, Gsignal, Curg         int64 // of runtime.m
}

// Code finds the code of functions by name: there may be several, since Go wraps
// functions of assembly in others of the same name.
type Code func(name string) [][]byte

// of returns the code of a function of the runtime's, which uses the g of the
// thread; its wrapper does not, or after the call only: that has the plain name
// where symbols tell them apart, and the function itself the suffix.
func (c Code) of(name string) ([]byte, error) {
	if c != nil {
		for _, code := range append(c(name+".abi0"), c(name)...) {
			if findUse(fieldUses(code), func(u use) bool { return u.tls }).found {
				return code, nil
			}
		}
	}
	return nil, fmt.Errorf("no function %s", name)
}

// ReadLayout reads the layout from the runtime's own code. Three functions of assembly, which Go's tables know in
// stripped programs too, use every field that matters (runtime/asm_amd64.s):
//
//	morestack    g = TLS[..]; m = g.m; g.sched.{pc,sp,bp} = ..; m.g0; m.gsignal
//	systemstack  g == m.gsignal?; m.g0; g == m.curg?
//	asmcgocall   g.stack.hi
//
// A field that two of them name must be the same in both. What is not among them
// (goroutines' IDs and states) stays unknown. Test: in integration/switches,
// TestStripped.
func ReadLayout(arch unwind.Arch, code Code) (*Layout, error) {
	if arch != unwind.AMD64 {
		return nil, fmt.Errorf("no rule for the runtime's code on %s", arch)
	}
	var uses [3][]use
	for i, name := range []string{"runtime.morestack", "runtime.systemstack", "runtime.asmcgocall"} {
		body, err := code.of(name)
		if err != nil {
			return nil, err
		}
		uses[i] = fieldUses(body)
	}
	l := &Layout{}
	morestack, systemstack, asmcgocall := uses[0], uses[1], uses[2]
	g := findUse(morestack, func(u use) bool { return u.tls })
	if l.TLS = int64(int32(g.off)); g.base != 0 || l.TLS == 0 {
		return nil, fmt.Errorf("runtime.morestack does not show where g is: the program is position-independent")
	}
	m := findUse(morestack, func(u use) bool { return !u.tls && u.load && u.base == g.reg })
	var g0, gsignal use
	field := func(what string, to *int64, list []use, right func(use) bool) error {
		u := findUse(list, right)
		if *to = u.off; !u.found {
			return fmt.Errorf("the code of the runtime does not show %s", what)
		}
		return nil
	}
	stored := func(what string) func(use) bool {
		return func(u use) bool { return !u.tls && !u.load && u.base == g.reg && u.what == what }
	}
	ofM := func(skip int64) func(use) bool {
		return func(u use) bool { return u.load && u.base == m.reg && u.off != skip }
	}
	for _, f := range []struct {
		what  string
		to    *int64
		list  []use
		right func(use) bool
	}{
		{"runtime.g.m", &l.M, morestack, func(u use) bool { return u == m }},
		{"runtime.g.sched.pc", &l.SchedPC, morestack, stored("[rsp+0]")},
		{"runtime.g.sched.sp", &l.SchedSP, morestack, stored("rsp+8")},
		{"runtime.g.sched.bp", &l.SchedBP, morestack, stored("rbp")},
		{"runtime.m.g0", &l.G0, morestack, ofM(-1)},
		{"runtime.g.stack.hi", &l.StackHi, asmcgocall, func(u use) bool { return u.what == "top" }},
	} {
		if err := field(f.what, f.to, f.list, f.right); err != nil {
			return nil, err
		}
	}
	l.StackLo = l.StackHi - 8
	if gsignal = findUse(morestack, ofM(l.G0)); !gsignal.found {
		return nil, fmt.Errorf("the code of the runtime does not show runtime.m.gsignal")
	}
	l.Gsignal = gsignal.off
	// systemstack: its m is loaded from the g; what it compares with g in m.
	m2 := findUse(systemstack, func(u use) bool { return !u.tls && u.load && u.base != x86asm.RSP && u.off == l.M })
	var compared []int64
	for _, u := range systemstack {
		if u.base == m2.reg && u.what == "cmp" {
			compared = append(compared, u.off)
		}
	}
	g0 = findUse(systemstack, func(u use) bool { return u.load && u.base == m2.reg && u.what != "cmp" })
	if len(compared) < 2 || compared[0] != l.Gsignal || !g0.found || g0.off != l.G0 {
		return nil, fmt.Errorf("runtime.systemstack and runtime.morestack differ in what they use of runtime.m")
	}
	l.Curg = compared[1]
	return l, nil
}

// use is an instruction's use of a field: base+off, loaded to or stored from reg.
type use struct {
	found     bool
	tls, load bool
	base, reg x86asm.Reg
	off       int64
	// what is stored, as "rbp", "rsp+8", "[rsp+0]"; "cmp" for a comparison; "top"
	// for a load that a distance on the stack is subtracted from.
	what string
}

func findUse(list []use, right func(use) bool) use {
	for _, u := range list {
		if right(u) {
			return u
		}
	}
	return use{}
}

// fieldUses lists the uses of fields in straight code.
func fieldUses(code []byte) (out []use) {
	holds := map[x86asm.Reg]string{x86asm.RBP: "rbp"}
	for len(code) > 0 {
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			return out
		}
		code = code[inst.Len:]
		dst, toReg := inst.Args[0].(x86asm.Reg)
		src, fromReg := inst.Args[1].(x86asm.Reg)
		into, toMem := inst.Args[0].(x86asm.Mem)
		from, fromMem := inst.Args[1].(x86asm.Mem)
		switch {
		case inst.Op == x86asm.MOV && toReg && fromMem:
			out = append(out, use{found: true, tls: from.Segment == x86asm.FS, load: true, base: from.Base, reg: dst, off: from.Disp})
			if holds[dst] = ""; from.Base == x86asm.RSP {
				holds[dst] = fmt.Sprintf("[rsp+%d]", from.Disp)
			}
		case inst.Op == x86asm.LEA && toReg && fromMem && from.Base == x86asm.RSP:
			holds[dst] = fmt.Sprintf("rsp+%d", from.Disp)
		case inst.Op == x86asm.MOV && toMem && fromReg:
			out = append(out, use{found: true, tls: into.Segment == x86asm.FS, base: into.Base, reg: src, off: into.Disp, what: holds[src]})
		case inst.Op == x86asm.CMP && toReg && fromMem:
			out = append(out, use{found: true, load: true, base: from.Base, reg: dst, off: from.Disp, what: "cmp"})
		case inst.Op == x86asm.SUB && toReg && fromMem && from.Base == x86asm.RSP:
			for i := range out {
				if u := &out[len(out)-1-i]; u.load && u.reg == dst {
					u.what = "top"
					break
				}
			}
		case toReg:
			holds[dst] = ""
		}
	}
	return out
}
