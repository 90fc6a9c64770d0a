package native

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// Syntax is how instructions are written.
type Syntax string

// The syntaxes. An empty one is the usual of the architecture.
const (
	ATT   Syntax = "att"   // amd64, as objdump writes it
	Intel Syntax = "intel" // amd64
	GNU   Syntax = "gnu"   // arm64
)

// ForUsers says that a user may choose the syntax: one that the architecture of a program does not have stands for its usual one.
func (s Syntax) ForUsers() bool { return s == "" || s == ATT || s == Intel }

// Instruction is a machine instruction.
type Instruction struct {
	Addr  uint64
	Bytes []byte
	// Text is the instruction, with the function that it leads to: "call 0x401136 <f+4>". Bytes that are no known
	// instruction are ".byte 0x06".
	Text     string
	Target   uint64 // where a call or jump leads, if the instruction says it
	Function string // that it belongs to; "" if it is not known
	File     string // of its line
	Line     int    // 0 if it is not known
}

// maxCode bounds the code that is disassembled at once, in bytes.
const maxCode = 1 << 20

var (
	errTooMuch   = fmt.Errorf("more than %d bytes of code", maxCode)
	errNotNative = errors.New("it is no native code of an image")
	errSyntax    = errors.New("the architecture has no such syntax of instructions")
)

// Disassemble returns the instructions from start up to end, which must be where instructions begin.
func (c *Code) Disassemble(start, end uint64, s Syntax) ([]Instruction, error) {
	img, ok := c.images.FileAt(start)
	switch {
	case !ok || img.File == nil || img.File.IsGo(start-img.Bias):
		return nil, fmt.Errorf("%#x: %w", start, errNotNative)
	case end < start || end-start > maxCode:
		return nil, fmt.Errorf("%#x: %w", start, errTooMuch)
	}
	arch := img.File.Arch()
	if s == "" {
		s = map[unwind.Arch]Syntax{unwind.AMD64: ATT, unwind.ARM64: GNU}[arch]
	}
	decode := decoders[arch][s]
	if decode == nil {
		return nil, fmt.Errorf("%v, %q: %w", arch, s, errSyntax)
	}
	code := c.images.Bytes(start, int(end-start))
	d := listing{c: c, rows: img.File.NativeRows(start-img.Bias, end-img.Bias), bias: img.Bias, image: img.Path, sources: make(map[string]string)}
	for at := 0; at < len(code); {
		one := decode(code[at:], start+uint64(at))
		d.add(&one)
		at += len(one.Bytes)
	}
	return d.out, nil
}

// decoders decode one instruction, or a byte that is none.
var decoders = map[unwind.Arch]map[Syntax]func(code []byte, pc uint64) Instruction{
	unwind.AMD64: {
		ATT:   func(code []byte, pc uint64) Instruction { return decodeAMD64(code, pc, attText) },
		Intel: func(code []byte, pc uint64) Instruction { return decodeAMD64(code, pc, intelText) },
	},
	unwind.ARM64: {GNU: decodeARM64},
}

// listing is a list of instructions that is being made.
type listing struct {
	c    *Code
	rows []dwarfline.Row
	bias uint64
	in   Function // the function of the instruction before
	out  []Instruction

	image   string
	sources map[string]string // where files lie, by their names
}

// source is [FindSource], once for each file.
func (d *listing) source(file string) string {
	path, known := d.sources[file]
	if !known {
		path, _ = FindSource(file, d.image)
		d.sources[file] = path
	}
	return path
}

// add adds an instruction, with its function and line.
func (d *listing) add(one *Instruction) {
	if !d.in.Contains(one.Addr) {
		d.in, _ = d.c.FunctionAt(one.Addr)
	}
	one.Function = d.in.Name
	for len(d.rows) > 0 && d.rows[0].End <= one.Addr-d.bias {
		d.rows = d.rows[1:]
	}
	if len(d.rows) > 0 && d.rows[0].Addr <= one.Addr-d.bias {
		one.File, one.Line = d.source(d.rows[0].File), d.rows[0].Line
	}
	if one.Target != 0 {
		if name := d.c.label(one.Target); name != "" {
			one.Text += " <" + name + ">"
		}
	}
	d.out = append(d.out, *one)
}

// linkageEntry is what the name of an entry of a linkage table ends in, behind the symbol.
const linkageEntry = "@plt"

// label names an address by its function.
func (c *Code) label(addr uint64) string {
	img, ok := c.images.FileAt(addr)
	if !ok || img.File == nil {
		return ""
	}
	b, ok := img.File.FunctionBounds(addr - img.Bias)
	if !ok {
		return ""
	}
	name, imported := strings.CutSuffix(b.Name, linkageEntry)
	if imported {
		name = names.Short(names.Demangle(name)) + linkageEntry
	} else {
		name = names.Short(name)
	}
	if off := addr - img.Bias - b.Start; off != 0 {
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return name
}

// unknown is a piece of code that is no known instruction.
func unknown(code []byte, pc uint64) Instruction {
	var all []string
	for _, b := range code {
		all = append(all, fmt.Sprintf("%#02x", b))
	}
	return Instruction{Addr: pc, Bytes: code, Text: ".byte " + strings.Join(all, ", ")}
}

func decodeARM64(code []byte, pc uint64) Instruction {
	const size = 4
	if len(code) < size {
		return unknown(code, pc)
	}
	code = code[:size]
	inst, err := arm64asm.Decode(code)
	if err != nil {
		one := unknown(code, pc)
		one.Text = fmt.Sprintf(".inst 0x%08x", words(code)[0])
		return one
	}
	text := strings.TrimSpace(arm64asm.GNUSyntax(inst))
	one := Instruction{Addr: pc, Bytes: code, Text: strings.ReplaceAll(strings.ReplaceAll(text, ", ", ","), ",", ", ")}
	for _, a := range inst.Args {
		if rel, ok := a.(arm64asm.PCRel); ok {
			target := pc + uint64(rel)
			if inst.Op == arm64asm.ADRP {
				target = pc&^0xfff + uint64(rel)
			} else if inst.Op != arm64asm.ADR {
				one.Target = target
			}
			if i := strings.LastIndex(one.Text, ".+") + strings.LastIndex(one.Text, ".-") + 1; i >= 0 {
				one.Text = one.Text[:i] + fmt.Sprintf("%#x", target)
			}
		}
	}
	return one
}

func decodeAMD64(code []byte, pc uint64, text func(*x86asm.Inst, []byte, uint64) string) Instruction {
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3]&^1 == 0xfa { // CET (Intel's manual, volume 2)
		return Instruction{Addr: pc, Bytes: code[:4], Text: map[byte]string{0xfa: "endbr64", 0xfb: "endbr32"}[code[3]]}
	}
	if len(code) >= 3 && code[0] == 0xc5 && code[1]&^4 == 0xf8 && code[2] == 0x77 { // x86asm has a wrong length for it
		return Instruction{Addr: pc, Bytes: code[:3], Text: map[byte]string{0xf8: "vzeroupper", 0xfc: "vzeroall"}[code[1]]}
	}
	inst, err := x86asm.Decode(code, 64)
	if n := prologue.LengthAMD64(code); err != nil || inst.Len != n {
		return unknown(code[:min(max(1, n), len(code))], pc)
	}
	code = code[:inst.Len]
	one := Instruction{Addr: pc, Bytes: code, Text: text(&inst, code, pc)}
	next := pc + uint64(inst.Len)
	for _, a := range inst.Args {
		if rel, ok := a.(x86asm.Rel); ok {
			one.Target = next + uint64(int64(rel))
		}
	}
	if mem, ok := onlyMem(&inst, code); ok && mem.Base == x86asm.RIP {
		one.Text += fmt.Sprintf(" # %#x", next+uint64(int64(int32(mem.Disp))))
	}
	return one
}
