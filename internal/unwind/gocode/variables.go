package gocode

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// Located finds a function's code by name, and where it lies; nil if no function has that name.
type Located func(name string) (code []byte, addr uint64)

// Variables are addresses of variables of Go's runtime; 0 where one is not known.
type Variables struct {
	AllGLen, AllGPtr uint64 // the list of goroutines
	AllM             uint64 // the first runtime.m
	WaitReasons      uint64 // the words for why goroutines wait
	AllP             uint64 // the list of processors
	GoMaxProcs       uint64
	GCPhase          uint64 // what the garbage collection does
}

// errArchitecture says that no code of an architecture is read.
var errArchitecture = errors.New("the runtime's code is read on amd64 only")

// ReadVariables finds variables by the instructions that use them, in a program
// without symbols. Each must be the same in two functions, but for the words for
// wait reasons, which a wrong address does not make (runtime/proc.go,
// runtime2.go):
//
//	forEachGRace  loads allglen, then allgptr
//	allgadd       exchanges allgptr, then allglen
//	mcommoninit, schedtrace  have allm alone in common
//	schedtrace, procresize   use gomaxprocs, the latter exchanges it; load allp with its length, and
//	                         its capacity too
//	gcStart, gcMarkTermination  exchange gcphase alone
func ReadVariables(arch unwind.Arch, code Located) (v Variables, err error) {
	if arch != unwind.AMD64 {
		return v, errArchitecture
	}
	loads := globals(code, "runtime.forEachGRace", loaded)
	exchanged := globals(code, "runtime.allgadd", exchanges)
	if len(loads) < 2 || len(exchanged) < 2 || loads[0] != exchanged[1] || loads[1] != exchanged[0] {
		return v, fmt.Errorf("runtime.forEachGRace and runtime.allgadd do not agree on where the list of goroutines is")
	}
	v.AllGLen, v.AllGPtr = loads[0], loads[1]
	traced, resized := globals(code, "runtime.schedtrace", loaded), globals(code, "runtime.procresize", named)
	v.AllM = common(traced, globals(code, "runtime.mcommoninit", named))
	v.GoMaxProcs = common(globals(code, "runtime.schedtrace", named), globals(code, "runtime.procresize", exchanges))
	v.GCPhase = common(globals(code, "runtime.gcStart", exchanges), globals(code, "runtime.gcMarkTermination", exchanges))
	v.AllP = common(slices.DeleteFunc(slices.Clone(traced), func(at uint64) bool { return !slices.Contains(traced, at+8) }),
		slices.DeleteFunc(slices.Clone(resized), func(at uint64) bool { return !slices.Contains(resized, at+8) || !slices.Contains(resized, at+16) }))
	if tables := globals(code, "runtime.waitReason.String", addressed); len(tables) > 1 {
		v.WaitReasons = tables[1]
	}
	return v, nil
}

// common returns the only address that both lists have, 0 if there is no such one.
func common(a, b []uint64) (out uint64) {
	for _, at := range a {
		if !slices.Contains(b, at) || at == out {
			continue
		}
		if out != 0 {
			return 0
		}
		out = at
	}
	return out
}

// How an instruction uses a global variable.
const (
	loaded = 1 << iota
	addressed
	exchanges
	other
	named = loaded | addressed | other
)

// globals lists the addresses that a function's instructions refer to relative to
// their own, in that way and in order. An exchange is through a register that an
// address was loaded into.
func globals(find Located, name string, way int) (out []uint64) {
	code, addr := find(name)
	var pointer [16]uint64 // that registers hold
	index := func(r x86asm.Reg) int { return int(r-x86asm.RAX) & 15 }
	for len(code) > 0 {
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			return out
		}
		addr, code = addr+uint64(inst.Len), code[inst.Len:]
		dst, toReg := inst.Args[0].(x86asm.Reg)
		for i, arg := range inst.Args {
			m, ok := arg.(x86asm.Mem)
			if !ok {
				continue
			}
			at, use := addr+uint64(m.Disp), other
			switch {
			case inst.Op == x86asm.XCHG && m.Base >= x86asm.RAX && m.Base <= x86asm.R15 && m.Index == 0 && m.Disp == 0:
				at, use = pointer[index(m.Base)], exchanges
			case m.Base != x86asm.RIP:
				continue
			case inst.Op == x86asm.XCHG:
				use = exchanges
			case inst.Op == x86asm.LEA && toReg:
				use = addressed
				pointer[index(dst)] = at
			case inst.Op == x86asm.MOV && i == 1:
				use = loaded
			}
			if use&way != 0 && at != 0 {
				out = append(out, at)
			}
		}
	}
	return out
}
