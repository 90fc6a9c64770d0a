// Package framechain is an unwinder to learn from: it follows the chain of
// frame pointers on amd64 and arm64 and trusts it blindly. (The fpwalk plugin
// knows when it must not.)
package framechain

import (
	"context"
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
)

// Unwinder implements [unwind.Unwinder]. The zero value is ready.
type Unwinder struct {
	// Walks only read it, and never while Yield writes; the pointer is atomic so
	// that an unwinder may also be called without the plugin kit in between.
	yield atomic.Pointer[unwind.RangeSet]
}

var _ unwind.Unwinder = (*Unwinder)(nil)

// Describe describes the strategy. It needs no image, so it covers anything.
func (u *Unwinder) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{
		Name: "framechain", Version: "1.0",
		Arches:   []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:    unwind.TrustFramePointer,
		Anywhere: true,
	}, nil
}

// Update needs no section of an image, and covers its executable ranges.
func (u *Unwinder) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i, img := range delta.Added {
		reports[i] = unwind.ImageReport{ID: img.ID, Coverage: unwind.NewRangeSet(img.Executable...)}
	}
	return reports, nil
}

// Yield keeps the ranges in which a walk stops.
func (u *Unwinder) Yield(_ context.Context, ranges unwind.RangeSet) error {
	u.yield.Store(&ranges)
	return nil
}

// Walk answers each request by itself.
func (u *Unwinder) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	var yield unwind.RangeSet
	if p := u.yield.Load(); p != nil {
		yield = *p
	}
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results[i] = walk(&requests[i], yield)
	}
	return results, nil
}

func walk(r *unwind.WalkRequest, yield unwind.RangeSet) unwind.WalkResult {
	var out unwind.WalkResult
	fp, ok := r.Registers.FP(r.Arch)
	sp, ok2 := r.Registers.SP(r.Arch)
	if !ok || !ok2 || (r.Arch != unwind.AMD64 && r.Arch != unwind.ARM64) {
		out.Stop, out.Reason = unwind.StopNoRule, "frame or stack pointer is not known"
		return out
	}
	const record = 16 // the caller's frame pointer, then the return address
	order := r.Arch.ByteOrder()
	out.Steps = make([]unwind.Step, 0, min(r.MaxFrames, 512))
	for len(out.Steps) < r.MaxFrames {
		if fp == 0 {
			out.Stop, out.Reason = unwind.StopEnd, "the frame pointer is 0"
			return out
		}
		if fp < sp || fp%8 != 0 || fp > fp+record {
			out.Stop, out.Reason = unwind.StopBroken, "the frame pointer points to no frame record on this stack"
			return out
		}
		next, ok := r.Stack.Word(fp, order)
		ra, ok2 := r.Stack.Word(fp+8, order)
		if !ok || !ok2 {
			out.Stop, out.Need = unwind.StopMemory, unwind.Range{Start: fp, End: fp + record}
			return out
		}
		cfa := fp + record
		if ra == 0 {
			out.Stop, out.Reason = unwind.StopBroken, "the return address is 0"
			out.CFA, out.PC = cfa, ra
			return out
		}
		step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustFramePointer, Rule: "cfa=fp+16; ra=[cfa-8]; fp=[cfa-16]"}
		step.Caller.Set(r.Arch.PC(), ra)
		step.Caller.Set(r.Arch.SP(), cfa)
		step.Caller.Set(r.Arch.FP(), next)
		out.Steps = append(out.Steps, step)
		if yield.Contains(uint64(unwind.ReturnAddr(ra).Lookup(r.Arch))) {
			out.Stop = unwind.StopYield
			return out
		}
		fp, sp = next, cfa
	}
	return out // StopLimit
}
