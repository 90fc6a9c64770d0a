package assembler

import (
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
)

// described is a place with what its code shows, once that was computed.
type described struct {
	place
	looked bool
	code   bool          // there are bytes of it
	rule   *simulate.Row // what steps are compared with: CFA, return address and frame pointer; nil for none
	proven bool          // rule is, by the model of the image's code
	model  *simulate.Row // what leaves frames, by the model of the image's code; nil for none
}

// modelled returns what the model of the image's code says of a frame's place.
func (p *program) modelled(f *unwind.Frame) (known codemodel.Place) {
	at := f.PC.Lookup(p.target.Arch)
	model, bias := p.target.Code.Model(at)
	if model == nil {
		return known
	}
	fn := model.At(uint64(at) - bias)
	switch {
	case fn == nil:
	case f.PC.Kind() == unwind.KindReturn:
		known = fn.Waiting(f.PC.Raw() - bias)
	default:
		known, _ = fn.At(f.PC.Raw() - bias)
	}
	return known
}

// shows returns what the code of a frame's function shows: by the model, else, or where
// that is a guess, by a simulation from the function's start. Go's own code has its tables.
// The model is sure even behind a call that may not come back: the frame is there, so it did.
func (p *program) shows(f *unwind.Frame) *described {
	d := p.describe(f.PC.Lookup(p.target.Arch))
	if d.looked || d.known && d.Go {
		return d
	}
	d.looked = true
	if place := p.modelled(f); place.Proof != prologue.Unproven {
		d.model = &simulate.Row{Rule: place.Rule, Sure: place.Proof >= prologue.Some}
		d.proven = d.model.Sure
	}
	if !d.proven && d.known {
		code := p.body(&d.Function, f.PC.Raw())
		if d.code = len(code) > 0; d.Exact {
			d.rule = p.simulate(simulate.Stopped, code, d.Start, f.PC.Raw())
		}
	}
	if d.model != nil && d.rule == nil {
		compared := *d.model
		d.rule, d.code = &compared, true
	}
	if d.rule != nil {
		d.rule.Saved, d.rule.Kept = nil, false
	}
	return d
}

// certainRule is the rule that a frame's code shows for certain, nil for none.
func (p *program) certainRule(f *unwind.Frame) *simulate.Row {
	if d := p.shows(f); d.rule != nil && d.rule.Sure {
		return d.rule
	}
	return nil
}

// stepByModel leaves the last frame by the model of its code, which knows where the
// return address is: a scan would have to guess, and a chain of records does not tell the
// caller's stack pointer on arm64 (R12). It is asked once for each frame.
func (w *walker) stepByModel() outcome {
	if w.turn.modelAsked {
		return nothing
	}
	w.turn.modelAsked = true
	f := w.last()
	model := w.code.shows(f).model
	if model == nil || !model.Sure {
		ahead := w.code.ahead(f)
		if model = ahead.row; model == nil || ahead.guessed || !ahead.proven && !w.ledBy(model) {
			return nothing
		}
	} else if marksEnd(model) {
		return nothing
	}
	var step unwind.Step
	if err := w.code.stepBy(&model.Rule, &f.Registers, f.PC.Kind(), &step); err != nil {
		w.note(unwind.StrategyCode, err.Error())
		return nothing
	}
	if w.opts.AllRegisters {
		step.Rule = model.Rule.Whole()
	}
	return w.take(candidate{step: &step, strategy: unwind.StrategyCode})
}

// ledBy reports whether the call before the return address that a rule finds is known to lead to the last frame.
func (w *walker) ledBy(row *simulate.Row) bool {
	f := w.last()
	var step unwind.Step
	if w.code.stepBy(&row.Rule, &f.Registers, f.PC.Kind(), &step) != nil {
		return false
	}
	witness := codeWitness{program: w.code, frame: f, step: &step}
	return witness.led()
}
