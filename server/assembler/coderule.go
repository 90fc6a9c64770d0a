package assembler

import (
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
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

// provenRule returns the rule that the model of the code proves, nil if it proves none.
func (p *program) provenRule(f *unwind.Frame) *simulate.Row {
	if row, _ := p.frameRule(f); p.describe(f.PC.Lookup(p.target.Arch)).proven {
		return row
	}
	return nil
}
