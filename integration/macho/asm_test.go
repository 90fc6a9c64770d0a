package macho

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// target is an architecture as the generator has it.
type target struct {
	name, triple string
	saved        []string // registers that C code can be made to save
	further      []string // options that this architecture is tried with besides
	asmHead      string
	// binder is the target of a stub helper's jump, for the one function that is
	// imported. It leaves the stub's pointer as it is, so that every call comes by.
	binder string
	// asm makes a function of the chain in assembler.
	asm func(r *rand.Rand, name, next string) string
}

// Functions in assembler save what no compiler does in that order; what they are
// called for (large frames are probed by ___chkstk_darwin) and dyld_stub_binder
// have no unwind information, as in Apple's libraries.
var targets = []target{
	{
		name: "x86_64", triple: "x86_64-apple-macos11",
		further: []string{"-Oz"},
		saved:   []string{"rbx", "r12", "r13", "r14", "r15"},
		asmHead: ".text\n.globl ____chkstk_darwin\n____chkstk_darwin:\n push %rcx\n push %rax\n lea 24(%rsp), %rcx\n sub %rax, %rcx\n orb $0, (%rcx)\n" +
			" pop %rax\n pop %rcx\n ret\n",
		binder: ".text\n.globl dyld_stub_binder\ndyld_stub_binder:\n add $16, %rsp\n jmp _farCalls\n",
		asm:    asmX86,
	},
	{
		name: "arm64", triple: "arm64-apple-macos11",
		further: []string{"-O2 -mbranch-protection=pac-ret"},
		saved: []string{"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
			"d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"},
		asmHead: ".text\n.globl ____chkstk_darwin\n____chkstk_darwin:\n sub x9, sp, x9, lsl #4\n ldr xzr, [x9]\n ret\n",
		binder:  ".text\n.globl dyld_stub_binder\ndyld_stub_binder:\n add sp, sp, #16\n b _farCalls\n",
		asm:     asmARM64,
	},
}

// asmX86: any of the six registers pushed in any order, or five of them under a
// frame pointer, and room made by any form of sub.
func asmX86(r *rand.Rand, name, next string) string {
	regs := []string{"rbx", "r12", "r13", "r14", "r15", "rbp"}
	frame := r.IntN(3) == 0
	if frame {
		regs = regs[:5]
	}
	r.Shuffle(len(regs), func(i, j int) { regs[i], regs[j] = regs[j], regs[i] })
	regs = regs[:r.IntN(len(regs)+1)]
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, " "+format+"\n", args...) }
	fmt.Fprintf(&b, ".globl _%s\n.p2align 4\n_%s:\n .cfi_startproc\n", name, name)
	at := 8 // bytes from the CFA to the stack pointer
	places := map[string]int{}
	push := func(reg string) {
		line("pushq %%%s", reg)
		at += 8
		places[reg] = at
		if !frame || reg == "rbp" {
			line(".cfi_def_cfa_offset %d", at)
		}
	}
	if frame {
		push("rbp")
		line(".cfi_offset %%rbp, -16")
		line("movq %%rsp, %%rbp")
		line(".cfi_def_cfa_register %%rbp")
	}
	for _, reg := range regs {
		push(reg)
	}
	room := pick(r, []int{0, 8, 16, 64, 120, 128, 1000, 2000, 2048, 4000, 12000})
	if room += (16 - (at+room)%16) % 16; room > 0 {
		line("subq $%d, %%rsp", room)
		if !frame {
			line(".cfi_def_cfa_offset %d", at+room)
		}
	}
	for i := len(regs) - 1; i >= 0; i-- {
		line(".cfi_offset %%%s, -%d", regs[i], places[regs[i]])
	}
	for _, reg := range regs {
		line("movabsq $0x%x, %%%s", 1+r.Uint64N(1<<62), reg)
	}
	line("callq _leaf")
	line("movq %%rax, %%rdi")
	line("movl $%d, %%esi", r.IntN(1000))
	line("callq _%s", next)
	line("addq $3, %%rax")
	if room > 0 {
		if r.IntN(2) == 0 {
			line("addq $%d, %%rsp", room)
		} else {
			line("leaq %d(%%rsp), %%rsp", room)
		}
	}
	for i := len(regs) - 1; i >= 0; i-- {
		line("popq %%%s", regs[i])
	}
	if frame {
		line("popq %%rbp")
	}
	line("retq")
	line(".cfi_endproc")
	return b.String()
}

// asmARM64: any of the nine pairs under a frame record; in the order that the
// encoding has, or, as it cannot say that, in any other.
func asmARM64(r *rand.Rand, name, next string) string {
	pairs := [][2]string{{"x19", "x20"}, {"x21", "x22"}, {"x23", "x24"}, {"x25", "x26"}, {"x27", "x28"},
		{"d8", "d9"}, {"d10", "d11"}, {"d12", "d13"}, {"d14", "d15"}}
	var chosen [][2]string
	for _, p := range pairs {
		if r.IntN(2) == 0 {
			chosen = append(chosen, p)
		}
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, " "+format+"\n", args...) }
	fmt.Fprintf(&b, ".globl _%s\n.p2align 2\n_%s:\n .cfi_startproc\n", name, name)
	room := pick(r, []int{0, 16, 48, 256, 1024, 4096, 8192 + 32})
	size := 16 * (len(chosen) + 1)
	once := size+room <= 496 && r.IntN(2) == 0 // the stack pointer is moved once
	at := size
	if once {
		at += room
	}
	if r.IntN(2) == 0 && at <= 504 && !once {
		last := [2]string{"x29", "x30"}
		if len(chosen) > 0 {
			last = chosen[len(chosen)-1]
		}
		line("stp %s, %s, [sp, #-%d]!", last[1], last[0], at)
		if len(chosen) == 0 {
			b.Reset()
			fmt.Fprintf(&b, ".globl _%s\n.p2align 2\n_%s:\n .cfi_startproc\n stp x29, x30, [sp, #-%d]!\n", name, name, at)
		}
	} else {
		line("sub sp, sp, #%d", at)
	}
	place := func(i int) int { return at - 16*(i+2) } // from the lowered stack pointer
	for i := len(chosen) - 1; i >= 0; i-- {
		line("stp %s, %s, [sp, #%d]", chosen[i][1], chosen[i][0], place(i))
	}
	line("stp x29, x30, [sp, #%d]", at-16)
	line("add x29, sp, #%d", at-16)
	if !once && room > 0 {
		line("sub sp, sp, #%d", room&0xfff)
		if room > 0xfff {
			line("sub sp, sp, #%d, lsl #12", room>>12)
		}
	}
	line(".cfi_def_cfa w29, 16")
	line(".cfi_offset w30, -8")
	line(".cfi_offset w29, -16")
	for i, p := range chosen {
		line(".cfi_offset %s, -%d", dwarfName(p[0]), 24+16*i)
		line(".cfi_offset %s, -%d", dwarfName(p[1]), 32+16*i)
	}
	for _, p := range chosen {
		for _, reg := range p {
			line("mov x9, #%d", r.IntN(1<<16))
			if reg[0] == 'd' {
				line("fmov %s, x9", reg)
			} else {
				line("mov %s, x9", reg)
			}
		}
	}
	line("bl _leaf")
	line("mov x1, #%d", r.IntN(1000))
	line("bl _%s", next)
	line("add x0, x0, #3")
	if !once && room > 0 {
		if r.IntN(2) == 0 {
			line("sub sp, x29, #%d", at-16)
		} else {
			line("add sp, sp, #%d", room&0xfff)
			if room > 0xfff {
				line("add sp, sp, #%d, lsl #12", room>>12)
			}
		}
	}
	line("ldp x29, x30, [sp, #%d]", at-16)
	for i := range chosen {
		line("ldp %s, %s, [sp, #%d]", chosen[i][1], chosen[i][0], place(i))
	}
	line("add sp, sp, #%d", at)
	line("ret")
	line(".cfi_endproc")
	return b.String()
}

// dwarfName is a register as the assembler's directives take it.
func dwarfName(reg string) string {
	if reg[0] == 'x' {
		return "w" + reg[1:]
	}
	return "b" + reg[1:]
}
