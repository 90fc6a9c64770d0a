// A plugin that lies about every frame of C:
//
//	liar end|skip|cfa
//
// It says that the stack ends there, or returns the caller's caller as the caller, or the caller
// with a CFA that is 16 bytes too high.
package main

import (
	"context"
	"os"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin"
)

func main() { plugin.Serve(&liar{how: os.Args[len(os.Args)-1]}) }

type liar struct {
	how  string
	code unwind.RangeSet
}

// Describe implements [unwind.Unwinder].
func (*liar) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{Name: "liar", Version: "1", Arches: []unwind.Arch{unwind.AMD64}, Trust: unwind.TrustCFI}, nil
}

// Update implements [unwind.Unwinder].
func (l *liar) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i, img := range delta.Added {
		reports[i] = unwind.ImageReport{ID: img.ID, Coverage: unwind.NewRangeSet(img.Executable...)}
		l.code = unwind.NewRangeSet(append(img.Executable, l.code...)...)
	}
	return reports, nil
}

// Yield implements [unwind.Unwinder].
func (*liar) Yield(context.Context, unwind.RangeSet) error { return nil }

// Walk implements [unwind.Unwinder].
func (l *liar) Walk(_ context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		results[i] = l.walk(&requests[i])
	}
	return results, nil
}

// walk takes words that point to code for return addresses.
func (l *liar) walk(r *unwind.WalkRequest) (out unwind.WalkResult) {
	if l.how == "end" {
		out.Stop, out.Reason = unwind.StopEnd, "the plugin says that the stack ends"
		return out
	}
	sp, _ := r.Registers.SP(r.Arch)
	const words = 64
	for found, at := 0, sp; at < sp+8*words; at += 8 {
		ra, ok := r.Stack.Word(at, r.Arch.ByteOrder())
		if !ok || !l.code.Contains(ra) {
			continue
		}
		if found++; l.how == "skip" && found < 2 {
			continue
		}
		step := unwind.Step{CFA: at + 8, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI, Rule: "cfa=a lie"}
		if l.how == "cfa" {
			step.CFA += 16
		}
		step.Caller.Set(r.Arch.PC(), ra)
		step.Caller.Set(r.Arch.SP(), step.CFA)
		out.Steps = []unwind.Step{step}
		break
	}
	out.Stop = unwind.StopNoRule
	return out
}
