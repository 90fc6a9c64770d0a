package native

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/arch/x86/x86asm"
)

// x86asm writes instructions as older tools did, and some in a way that reads wrong: displacements without their sign, %riz for
// no register. Here they become what objdump and GDB write today.

// attNames are mnemonics that x86asm has by other names, or with a suffix that says nothing.
var attNames = map[string]string{
	"callq": "call", "jmpq": "jmp", "retq": "ret", "pushq": "push", "popq": "pop", "leaveq": "leave", "movsxd": "movslq",
	"cdqe": "cltq", "cwde": "cwtl", "cdq": "cltd", "cqo": "cqto", "cbw": "cbtw", "cwd": "cwtd",
}

// intelConditions are conditions that x86asm has by their other names.
var intelConditions = map[string]string{"z": "e", "nz": "ne", "nb": "ae", "nbe": "a", "nle": "g", "nl": "ge", "nae": "b", "na": "be", "ng": "le", "nge": "l"}

// conditional matches mnemonics with a condition.
var conditional = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(j|set|cmov)(n?z|n?be?|n?ae?|n?le?|n?ge?)$`)
})

// attText writes an instruction in AT&T's syntax.
func attText(inst *x86asm.Inst, code []byte, pc uint64) string {
	if text := padding(inst, "%"); text != "" {
		return text
	}
	words, args := split(strings.ReplaceAll(x86asm.GNUSyntax(*inst, pc, nil), " {", "{"))
	last := len(words) - 1
	if m := suffixed().FindStringSubmatch(words[last]); m != nil {
		words[last] = m[1]
	}
	words = noTrack(inst, code, words)
	last = len(words) - 1
	if name, ok := attNames[words[last]]; ok {
		words[last] = name
	}
	mem, only := onlyMem(inst, code)
	if words[last] == "mov" && isWide(inst, &mem) {
		words[last] = "movabs"
	}
	for i, a := range args {
		bare := strings.TrimLeft(a, "*")
		switch {
		case only && (a == "" || strings.Contains(a, "(") && !strings.HasPrefix(a, "%st(") || strings.HasPrefix(bare, "%fs:") || strings.HasPrefix(bare, "%gs:") || mem.Base == x86asm.RIP && !strings.HasPrefix(bare, "%") && !strings.HasPrefix(bare, "$")):
			mask := ""
			if at := strings.IndexByte(a, '{'); at >= 0 {
				mask = a[at:]
			}
			args[i] = a[:len(a)-len(bare)] + attMem(&mem) + mask
		case strings.HasPrefix(a, "$-"):
			args[i] = "$" + immediate(inst, a[1:])
		}
	}
	return assemble(words, args)
}

// intelText writes an instruction in Intel's syntax.
func intelText(inst *x86asm.Inst, code []byte, pc uint64) string {
	if text := padding(inst, ""); text != "" {
		return text
	}
	words, args := split(strings.ReplaceAll(x86asm.IntelSyntax(*inst, pc, nil), " {", "{"))
	words = noTrack(inst, code, words)
	last := len(words) - 1
	words[last] = strings.TrimSuffix(words[last], "_xmm")
	mem, only := onlyMem(inst, code)
	if m := conditional().FindStringSubmatch(words[last]); m != nil {
		if name, ok := intelConditions[m[2]]; ok {
			words[last] = m[1] + name
		}
	}
	switch {
	case words[last] == "mov" && isWide(inst, &mem):
		words[last] = "movabs"
	case words[last] == "nop" && len(args) == 2:
		args = args[:1]
	}
	for i, a := range args {
		open := strings.IndexByte(a, '[')
		size, _, sized := strings.Cut(a, " ptr ")
		switch {
		case strings.HasPrefix(a, "-"):
			args[i] = immediate(inst, a)
		case a == "0x1" && i == 1 && (inst.Opcode>>24 == 0xd1 || inst.Opcode>>24 == 0xd0):
			args[i] = "1"
		case open < 0 || !only:
			continue
		case sized && strings.HasPrefix(words[last], "prefetch"):
			args[i] = "BYTE PTR " + intelMem(&mem)
		case sized && words[last] != "lea":
			args[i] = strings.ToUpper(size) + " PTR " + intelMem(&mem)
		default:
			args[i] = intelMem(&mem)
		}
	}
	return assemble(words, args)
}

// padding is what the instructions are called that fill gaps, "" for others.
func padding(inst *x86asm.Inst, register string) string {
	if inst.Op == x86asm.NOP && inst.Len == 2 && inst.Prefix[0]&0xff == 0x66 {
		return "xchg " + register + "ax," + register + "ax"
	}
	return ""
}

// split takes an instruction's text apart: prefixes with the mnemonic, and the arguments.
func split(text string) (words, args []string) {
	rest := text
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		if len(words) > 0 && !isMnemonic(word) || len(words) > 0 && strings.HasSuffix(word, ",") || isSize(word) {
			break
		}
		words, rest = append(words, word), after
		if !isPrefix(word) {
			break
		}
	}
	depth, begin := 0, 0
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			args, begin = append(args, strings.TrimSpace(rest[begin:i])), i+1
		}
	}
	if last := strings.TrimSpace(rest[begin:]); last != "" || begin > 0 {
		args = append(args, last)
	}
	return words, args
}

func isMnemonic(word string) bool {
	return word != "" && word[0] >= 'a' && word[0] <= 'z'
}

func isSize(word string) bool { return word == "ptr" }

// isPrefix says whether a word comes before a mnemonic.
func isPrefix(word string) bool {
	switch word {
	case "lock", "rep", "repe", "repz", "repn", "repne", "repnz", "data16", "data32", "addr16", "addr32", "cs", "ds", "es", "fs", "gs", "ss",
		"notrack", "bnd", "xacquire", "xrelease", "rex", "rex.W":
		return true
	}
	return strings.HasPrefix(word, "rex.")
}

func assemble(words, args []string) string {
	return strings.TrimSpace(strings.Join(words, " ") + " " + strings.Join(args, ","))
}

// isWide says whether a move has a number, or an address, of 64 bits.
func isWide(inst *x86asm.Inst, mem *x86asm.Mem) bool {
	if _, number := inst.Args[1].(x86asm.Imm); number {
		return inst.Len == 10 && mem.Base == 0 && mem.Index == 0
	}
	op := inst.Opcode >> 24
	return op >= 0xa0 && op <= 0xa3
}

// suffixed matches mnemonics that have a suffix for their size where no one writes it.
var suffixed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(blsmsk|blsr|blsi|bzhi|sarx|shlx|shrx|rorx|andn|bextr|mulx|pdep|pext|xbegin)[lq]$`)
})

// noTrack sets the prefix of jumps that CET does not follow (Intel's manual, volume 2, notrack).
func noTrack(inst *x86asm.Inst, code []byte, words []string) []string {
	if (inst.Op != x86asm.JMP && inst.Op != x86asm.CALL) || code[0] != 0x3e {
		return words
	}
	return []string{"notrack", words[len(words)-1]}
}

// onlyMem returns the operand in memory, if there is one and no more. Of instructions with a VEX or EVEX prefix x86asm forgets
// that an address counts from the instruction, and takes other bits for a segment.
func onlyMem(inst *x86asm.Inst, code []byte) (mem x86asm.Mem, only bool) {
	for _, a := range inst.Args {
		if m, ok := a.(x86asm.Mem); ok {
			if only || m.Segment == x86asm.ES { // of strings
				return mem, false
			}
			mem, only = m, true
		}
	}
	at := 0
	mem.Segment = 0
	for ; at < len(code)-1; at++ {
		if b := code[at]; b == 0x64 {
			mem.Segment = x86asm.FS
		} else if b == 0x65 {
			mem.Segment = x86asm.GS
		} else if b != 0x66 && b != 0x67 && b != 0xf2 && b != 0xf3 && b != 0xf0 && b != 0x2e && b != 0x3e {
			break
		}
	}
	vex := code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62
	if only && vex && mem.Base == 0 && mem.Index == 0 {
		mem.Base = x86asm.RIP
	}
	return mem, only
}

// displacement writes a signed number; none where it is 0 and nothing needs it.
func displacement(n int64, needed bool) string {
	switch {
	case n < 0:
		return fmt.Sprintf("-%#x", -n)
	case n > 0 || needed:
		return fmt.Sprintf("%#x", n)
	}
	return ""
}

// attMem writes an operand in memory.
func attMem(m *x86asm.Mem) string {
	seg := ""
	if m.Segment != 0 {
		seg = "%" + strings.ToLower(m.Segment.String()) + ":"
	}
	disp := displacement(int64(int32(m.Disp)), isBP(m.Base) || m.Base == 0 && m.Index == 0)
	if m.Base == 0 && m.Index == 0 {
		return seg + disp
	}
	if m.Base == 0 && disp == "" {
		disp = "0x0"
	}
	in := ""
	if m.Base != 0 {
		in = "%" + strings.ToLower(register(m.Base))
	}
	if m.Index != 0 {
		in += fmt.Sprintf(",%%%s,%d", register(m.Index), max(m.Scale, 1))
	}
	return seg + disp + "(" + in + ")"
}

// intelMem writes an operand in memory.
func intelMem(m *x86asm.Mem) string {
	seg := ""
	if m.Segment != 0 {
		seg = strings.ToLower(m.Segment.String()) + ":"
	}
	disp := int64(int32(m.Disp))
	if m.Base == 0 && m.Index == 0 {
		if seg == "" {
			seg = "ds:"
		}
		return seg + displacement(disp, true)
	}
	var in []string
	if m.Base != 0 {
		in = append(in, register(m.Base))
	}
	if m.Index != 0 {
		in = append(in, fmt.Sprintf("%s*%d", register(m.Index), max(m.Scale, 1)))
	}
	text := strings.Join(in, "+")
	if d := displacement(disp, isBP(m.Base) || m.Base == 0); strings.HasPrefix(d, "-") {
		text += d
	} else if d != "" {
		text += "+" + d
	}
	return seg + "[" + text + "]"
}

// isBP says whether a base is never written without a displacement: the encoding has none.
func isBP(r x86asm.Reg) bool {
	return r == x86asm.RBP || r == x86asm.R13 || r == x86asm.EBP || r == x86asm.R13L
}

// register is a register's name in lower case.
func register(r x86asm.Reg) string {
	name := strings.ToLower(r.String())
	if strings.HasPrefix(name, "r") && strings.HasSuffix(name, "l") && len(name) > 2 && name[1] >= '0' && name[1] <= '9' {
		return strings.TrimSuffix(name, "l") + "d"
	}
	return name
}

// immediate writes a negative number as the operand's size has it.
func immediate(inst *x86asm.Inst, text string) string {
	for _, a := range inst.Args {
		if n, ok := a.(x86asm.Imm); ok && n < 0 {
			if size := operandBits(inst); size < 64 {
				return fmt.Sprintf("%#x", uint64(n)&(1<<size-1))
			}
			return fmt.Sprintf("%#x", uint64(n))
		}
	}
	return text
}

// operandBits is the size of what a number is combined with.
func operandBits(inst *x86asm.Inst) int {
	for _, a := range inst.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			if inst.MemBytes > 0 {
				return 8 * min(inst.MemBytes, 8)
			}
		case x86asm.Reg:
			switch {
			case a >= x86asm.AL && a <= x86asm.R15B:
				return 8
			case a >= x86asm.AX && a <= x86asm.R15W:
				return 16
			case a >= x86asm.EAX && a <= x86asm.R15L:
				return 32
			}
			return 64
		}
	}
	if inst.Op == x86asm.PUSH {
		return 64
	}
	return max(inst.DataSize, 8)
}
