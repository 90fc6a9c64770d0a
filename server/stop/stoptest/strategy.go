package stoptest

import (
	"context"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// StrategyName is the name of the unwinder for the program's C code.
const StrategyName = "fixed"

// Strategies are the unwinders for the program's C code: one, whose frames have
// this trust.
func Strategies(trust unwind.Trust) []engine.Named {
	return []engine.Named{{Name: StrategyName, Unwinder: fixed{trust}}}
}

// fixed is an unwinder of code whose frames all have the same size.
type fixed struct{ trust unwind.Trust }

func (f fixed) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{Name: StrategyName, Arches: []unwind.Arch{unwind.AMD64}, Trust: f.trust}, nil
}

func (f fixed) Update(_ context.Context, delta unwind.ImageDelta) (out []unwind.ImageReport, err error) {
	for _, img := range delta.Added {
		out = append(out, unwind.ImageReport{ID: img.ID, Coverage: unwind.NewRangeSet(unwind.Range{Start: 0x401000, End: 0x403000})})
	}
	return out, nil
}

func (f fixed) Yield(context.Context, unwind.RangeSet) error { return nil }

func (f fixed) Walk(_ context.Context, requests []unwind.WalkRequest) (out []unwind.WalkResult, err error) {
	for _, r := range requests {
		out = append(out, f.walk(&r))
	}
	return out, nil
}

func (f fixed) walk(r *unwind.WalkRequest) (result unwind.WalkResult) {
	sp, _ := r.Registers.SP(r.Arch)
	pc, _ := r.Registers.PC(r.Arch)
	for len(result.Steps) < r.MaxFrames {
		if pc&^(pageSize-1) == startPC&^(pageSize-1) {
			result.Stop, result.Reason = unwind.StopEnd, "start has no caller"
			return result
		}
		cfa := sp + cFrame
		var err error
		if pc, err = unwind.ReadWord(r.Stack, cfa-8, r.Arch.PointerSize(), r.Arch.ByteOrder()); err != nil {
			result.Stop, result.Need = unwind.StopMemory, unwind.Range{Start: cfa - 8, End: cfa}
			return result
		}
		step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: f.trust, Rule: "cfa=rsp+16; ra=[cfa-8]"}
		step.Caller.Set(r.Arch.PC(), pc)
		step.Caller.Set(r.Arch.SP(), cfa)
		result.Steps = append(result.Steps, step)
		sp = cfa
	}
	result.Stop = unwind.StopLimit
	return result
}
