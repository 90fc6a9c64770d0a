package assembler

import (
	"bytes"

	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// frameRule returns the rule that the code of a frame's function shows, even one
// that is only likely; nil if it shows none. Only CFA, return address and frame
// pointer of it are compared with steps. known is false without code.
func (p *program) frameRule(f *unwind.Frame) (row *simulate.Row, known bool) {
	d := p.describe(f.PC.Lookup(p.target.Arch))
	if d.simulated {
		return d.rule, d.code
	}
	d.simulated = true
	model := p.modelRow(f)
	if d.proven = model != nil && model.Sure; !d.proven && d.known && !d.Go {
		code := p.body(&d.Function, f.PC.Raw())
		d.code = len(code) > 0
		if d.Exact {
			d.rule = p.simulate(simulate.Stopped, code, d.Start, f.PC.Raw())
		}
	}
	if model != nil && d.rule == nil {
		compared := *model
		d.rule, d.code = &compared, true
	}
	if d.rule != nil {
		d.rule.Saved, d.rule.Kept = nil, false
	}
	return d.rule, d.code
}

// certainFrameRule is the same, but nil for a rule that is only likely.
func (p *program) certainFrameRule(f *unwind.Frame) *simulate.Row {
	if row, _ := p.frameRule(f); row != nil && row.Sure {
		return row
	}
	return nil
}

const (
	functionAlign       = 16 // of gcc and clang on amd64, when they optimise
	maxPrologueDistance = 16 << 10
	maxPrologues        = 64 // to simulate: bytes of any kind may look like one
	pushRBP             = 0x55
	// codeBehind is the amount of code to simulate behind a frame's place, in bytes,
	// where the end of its function is unknown.
	codeBehind = 256
)

var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	framing = []byte{pushRBP, 0x48, 0x89, 0xe5} // push %rbp; mov %rsp,%rbp
)

// prologueRule looks before pc for a prologue that sets up a frame pointer, on an
// address where compilers let functions begin, or anywhere where its two
// instructions follow each other, and returns the rule that the code from there has
// at pc, nil if none leads there. Only the nearest that does so counts: before it
// lie other functions, whose code does not lead here.
func (p *program) prologueRule(pc uint64) *simulate.Row {
	if p.target.Arch != unwind.AMD64 {
		return nil
	}
	row, known := p.prologues[pc]
	if !known {
		row = p.findPrologue(pc)
		if p.prologues == nil {
			p.prologues = make(map[uint64]*simulate.Row)
		}
		p.prologues[pc] = row
	}
	return row
}

func (p *program) findPrologue(pc uint64) *simulate.Row {
	framed := rule.FramePointer(p.target.Arch)
	low, code := p.codeBefore(pc)
	for i, tried := min(int(pc-low), len(code)-1), 0; i >= 0 && tried < maxPrologues; i-- {
		at := low + uint64(i)
		if !beginsFrame(code[i:], at) {
			continue
		}
		tried++
		row := p.certainRow(simulate.Stopped, &Function{Start: at, End: pc + codeBehind}, pc)
		if row != nil && row.CFA == framed.CFA && row.FP == framed.FP {
			return row
		}
	}
	return nil
}

// beginsFrame reports whether code at an address looks like such a prologue.
func beginsFrame(code []byte, at uint64) bool {
	if at%functionAlign != 0 {
		return bytes.HasPrefix(code, framing)
	}
	code = bytes.TrimPrefix(code, endbr64)
	return len(code) > 0 && code[0] == pushRBP
}

// codeBefore returns up to maxPrologueDistance bytes of code before pc and a few
// behind, and their start: in the first page from which on all code is known.
func (p *program) codeBefore(pc uint64) (low uint64, code []byte) {
	if pc < unwind.LowestCode || pc > ^uint64(0)-pageSize {
		return pc, nil
	}
	for low = pc - min(pc, maxPrologueDistance); low < pc; low = low&^(pageSize-1) + pageSize {
		code = p.code(low, int(pc-low)+len(endbr64)+1)
		if uint64(len(code)) >= pc-low {
			return low, code
		}
	}
	return pc, nil
}
