package assembler

import (
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
)

// Modeller is a [CodeMap] that has models of its images' code.
type Modeller interface {
	// Model returns the model of the image that an address lies in, nil if it has
	// none, and where the image is loaded: what is added to the model's addresses.
	Model(at unwind.LookupAddr) (m *codemodel.Image, bias uint64)
}

// model returns the model of the image at an address, nil for an image without a model.
func (p *program) model(at unwind.LookupAddr) (m *codemodel.Image, bias uint64) {
	if models, ok := p.target.Code.(Modeller); ok {
		return models.Model(at)
	}
	return nil, 0
}

// modelled returns what the model of the image's code says of a frame's place.
func (p *program) modelled(f *unwind.Frame) codemodel.Place {
	at := f.PC.Lookup(p.target.Arch)
	model, bias := p.model(at)
	if model == nil {
		return codemodel.Place{}
	}
	fn := model.At(uint64(at) - bias)
	if fn == nil {
		return codemodel.Place{}
	}
	if f.PC.Kind() == unwind.KindReturn {
		return fn.Waiting(f.PC.Raw() - bias)
	}
	place, _ := fn.At(f.PC.Raw() - bias)
	return place
}

// modelRow is the model's rule at a frame's place, nil if it has none. It is sure even
// behind a call that may not come back: the frame is there, so it did.
func (p *program) modelRow(f *unwind.Frame) *simulate.Row {
	d := p.describe(f.PC.Lookup(p.target.Arch))
	if d.modelled {
		return d.model
	}
	d.modelled = true
	if d.known && d.Go {
		return nil
	}
	if place := p.modelled(f); place.Proof != prologue.Unproven {
		d.model = &simulate.Row{Rule: place.Rule, Sure: place.Proof >= prologue.Some}
	}
	return d.model
}

// stepByModel leaves the last frame by the model of its code, which knows where the
// return address is: a scan would have to guess.
func (w *walker) stepByModel() outcome {
	f := w.last()
	model := w.code.modelRow(f)
	if model == nil || !model.Sure || marksEnd(model) {
		return nothing
	}
	var step unwind.Step
	if err := w.code.stepBy(&model.Rule, &f.Registers, f.PC.Kind(), &step); err != nil {
		w.note(unwind.StrategyCode, err.Error())
		return nothing
	}
	return w.take(candidate{step: &step, strategy: unwind.StrategyCode})
}
