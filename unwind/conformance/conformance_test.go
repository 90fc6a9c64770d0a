package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// toy is the least unwinder that passes: it follows frame records on amd64 and
// judges them. A test replaces one of its parts by a broken one.
type toy struct {
	yield  unwind.RangeSet
	calls  atomic.Int32
	broken func(u *toy, request *unwind.WalkRequest, result *unwind.WalkResult)

	description func(*unwind.Description)
	reports     func([]unwind.ImageReport) []unwind.ImageReport
	walkErr     error
	lostResults bool
	deaf        bool
	closed      *atomic.Int32
}

func (u *toy) Describe(context.Context) (unwind.Description, error) {
	d := unwind.Description{Name: "toy", Version: "1", Arches: []unwind.Arch{unwind.AMD64}, Trust: unwind.TrustFramePointer}
	if u.description != nil {
		u.description(&d)
	}
	return d, nil
}

func (u *toy) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	var reports []unwind.ImageReport
	for _, image := range delta.Added {
		reports = append(reports, unwind.ImageReport{ID: image.ID})
	}
	if u.reports != nil {
		reports = u.reports(reports)
	}
	return reports, nil
}

func (u *toy) Yield(_ context.Context, ranges unwind.RangeSet) error {
	if !u.deaf {
		u.yield = ranges
	}
	return nil
}

func (u *toy) Walk(_ context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		u.walk(&requests[i], &results[i])
		if u.broken != nil {
			u.broken(u, &requests[i], &results[i])
		}
	}
	u.calls.Add(1)
	if u.lostResults && len(results) > 0 {
		results = results[1:]
	}
	return results, u.walkErr
}

func (u *toy) Close() error {
	if u.closed != nil {
		u.closed.Add(1)
	}
	return nil
}

func (u *toy) walk(request *unwind.WalkRequest, result *unwind.WalkResult) {
	sp, _ := request.Registers.SP(request.Arch)
	fp, ok := request.Registers.FP(request.Arch)
	if request.Arch != unwind.AMD64 || !ok {
		result.Stop, result.Reason = unwind.StopNoRule, "no rule"
		return
	}
	for len(result.Steps) < request.MaxFrames {
		if fp == 0 {
			result.Stop, result.Reason = unwind.StopEnd, "end"
			return
		}
		if fp < sp || fp > ^uint64(63) {
			result.Stop, result.Reason = unwind.StopBroken, "broken"
			return
		}
		next, ok1 := request.Stack.Word(fp, request.Arch.ByteOrder())
		ra, ok2 := request.Stack.Word(fp+8, request.Arch.ByteOrder())
		if !ok1 || !ok2 {
			result.Stop, result.Need = unwind.StopMemory, unwind.Range{Start: fp, End: fp + 16}
			return
		}
		step := unwind.Step{CFA: fp + 16, CallerKind: unwind.KindReturn, Trust: unwind.TrustFramePointer, Rule: "cfa=rbp+16"}
		step.Caller.Set(unwind.AMD64RIP, ra)
		step.Caller.Set(unwind.AMD64RSP, fp+16)
		step.Caller.Set(unwind.AMD64RBP, next)
		result.Steps = append(result.Steps, step)
		fp, sp = next, fp+16
		if u.yield.Contains(uint64(unwind.ReturnAddr(ra).Lookup(request.Arch))) {
			result.Stop = unwind.StopYield
			return
		}
	}
	result.Stop = unwind.StopLimit
}

func toyOptions(t *testing.T) Options {
	t.Helper()
	opts := Options{Images: unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 1}, {ID: 2}}}, Timeout: 5 * time.Second}
	for _, n := range []int{1, 7} {
		w, err := FrameRecords(unwind.AMD64, n)
		if err != nil {
			t.Fatal(err)
		}
		opts.Walks = append(opts.Walks, w)
	}
	return opts
}

// TestSuitePasses runs the whole suite on an unwinder that is right, and sees
// that every unwinder it made is closed.
func TestSuitePasses(t *testing.T) {
	var made, closed atomic.Int32
	Run(t, func() unwind.Unwinder {
		made.Add(1)
		return &toy{closed: &closed}
	}, toyOptions(t))
	if made.Load() == 0 || made.Load() != closed.Load() {
		t.Errorf("%d made, %d closed", made.Load(), closed.Load())
	}
}

// TestSuiteFindsFaults breaks the toy in one place at a time: the suite must
// say so, in the subtest that is about it.
func TestSuiteFindsFaults(t *testing.T) {
	each := func(f func(request *unwind.WalkRequest, step *unwind.Step, i int)) func(*toy, *unwind.WalkRequest, *unwind.WalkResult) {
		return func(_ *toy, request *unwind.WalkRequest, result *unwind.WalkResult) {
			for i := range result.Steps {
				f(request, &result.Steps[i], i)
			}
		}
	}
	for _, tc := range []struct {
		fault, property, want string
		toy                   *toy
	}{
		{"name", "describe", "name", &toy{description: func(d *unwind.Description) { d.Name = "A B" }}},
		{"version", "describe", "version", &toy{description: func(d *unwind.Description) { d.Version = "" }}},
		{"trust", "describe", "trust", &toy{description: func(d *unwind.Description) { d.Trust = unwind.TrustContext }}},
		{"no architecture", "describe", "architectures", &toy{description: func(d *unwind.Description) { d.Arches = nil }}},
		{"sections", "describe", "sections", &toy{description: func(d *unwind.Description) { d.Sections = []string{"a", "a"} }}},
		{"lost report", "update", "reports", &toy{reports: func(r []unwind.ImageReport) []unwind.ImageReport { return nil }}},
		{"garbage report", "corrupt images", "coverage", &toy{reports: func(r []unwind.ImageReport) []unwind.ImageReport {
			if len(r) > 2 {
				r[1].Coverage = unwind.RangeSet{{Start: 9, End: 5}}
			}
			return r
		}}},
		{"error", "walks", "on strike", &toy{walkErr: errors.New("on strike")}},
		{"lost result", "walks", "0 results for 1", &toy{lostResults: true}},
		{"no steps", "walks", "nothing to test", &toy{broken: func(_ *toy, _ *unwind.WalkRequest, r *unwind.WalkResult) {
			*r = unwind.WalkResult{Stop: unwind.StopNoRule, Reason: "no"}
		}}},
		{"wrong caller", "walks", "callers", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, _ int) {
			s.Caller.Set(unwind.AMD64RIP, 0x9999)
		})}},
		{"no SP", "walks", "no SP", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, _ int) { s.Caller.Forget(unwind.AMD64RSP) })}},
		{"SP back", "walks", "does not increase", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, _ int) { s.Caller.Set(unwind.AMD64RSP, 8) })}},
		{"CFA back", "walks", "CFA", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, i int) { s.CFA = 1000 - uint64(i) })}},
		{"trusts itself too much", "walks", "trust", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, _ int) { s.Trust = unwind.TrustCFI })}},
		{"no rule", "walks", "equation", &toy{broken: each(func(_ *unwind.WalkRequest, s *unwind.Step, _ int) { s.Rule = "" })}},
		{"no reason", "walks", "without a reason", &toy{broken: func(_ *toy, _ *unwind.WalkRequest, r *unwind.WalkResult) { r.Reason = "" }}},
		{"always limit", "walks", "limit", &toy{broken: func(_ *toy, _ *unwind.WalkRequest, r *unwind.WalkResult) { r.Stop = unwind.StopLimit }}},
		{"greedy", "starved", "at once", &toy{broken: func(_ *toy, _ *unwind.WalkRequest, r *unwind.WalkResult) {
			if r.Stop == unwind.StopMemory {
				r.Need.End += 1 << 20
			}
		}}},
		{"asks twice", "starved", "was given", &toy{broken: func(_ *toy, q *unwind.WalkRequest, r *unwind.WalkResult) {
			if len(q.Stack) > 2 {
				*r = unwind.WalkResult{Stop: unwind.StopMemory, Need: unwind.Range{Start: q.Stack[0].Addr, End: q.Stack[0].Addr + 8}}
			}
		}}},
		{"gives up without memory", "starved", "differs", &toy{broken: func(_ *toy, q *unwind.WalkRequest, r *unwind.WalkResult) {
			if len(q.Stack) == 0 {
				*r = unwind.WalkResult{Stop: unwind.StopNoRule, Reason: "hungry"}
			}
		}}},
		{"no limit", "limit", "were the limit", &toy{broken: func(_ *toy, q *unwind.WalkRequest, r *unwind.WalkResult) {
			if q.MaxFrames < 3 {
				r.Steps = append(r.Steps, r.Steps...)
			}
		}}},
		{"needs the past", "resumed", "resumed", &toy{broken: each(func(q *unwind.WalkRequest, s *unwind.Step, i int) {
			if i > 0 {
				s.Note = "not the first"
			}
		})}},
		{"keeps state", "repeated", "repeated", &toy{broken: func(u *toy, _ *unwind.WalkRequest, r *unwind.WalkResult) {
			r.Reason += fmt.Sprint(u.calls.Load())
		}}},
		{"mixes up batches", "batches", "of a batch", &toy{broken: func(u *toy, q *unwind.WalkRequest, r *unwind.WalkResult) {
			if u.calls.Load() > 2 && len(r.Steps) == 1 {
				*r = unwind.WalkResult{Stop: unwind.StopNoRule, Reason: "lost"}
			}
		}}},
		{"fewer registers with more", "registers", "AllRegisters", &toy{broken: each(func(q *unwind.WalkRequest, s *unwind.Step, _ int) {
			if !q.AllRegisters {
				s.Caller.Set(unwind.AMD64RBX, 1)
			}
		})}},
		{"does not yield", "yield", "yielded", &toy{deaf: true}},
		{"foreign architecture", "foreign architecture", "arm64", &toy{broken: func(_ *toy, q *unwind.WalkRequest, r *unwind.WalkResult) {
			if q.Arch != unwind.AMD64 {
				r.Stop = unwind.StopBroken
			}
		}}},
		{"panics", "hostile", "panic", &toy{broken: func(_ *toy, q *unwind.WalkRequest, _ *unwind.WalkResult) {
			if len(q.Stack) == 0 {
				panic("no stack")
			}
		}}},
		{"hangs", "hostile", "does not return", &toy{broken: func(_ *toy, q *unwind.WalkRequest, _ *unwind.WalkResult) {
			if len(q.Stack) == 0 {
				select {}
			}
		}}},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			opts := toyOptions(t)
			if tc.fault == "hangs" {
				opts.Timeout = 200 * time.Millisecond
			}
			for _, p := range properties {
				if p.name != tc.property {
					continue
				}
				err := check(p, func() unwind.Unwinder {
					return &toy{broken: tc.toy.broken, description: tc.toy.description, reports: tc.toy.reports,
						walkErr: tc.toy.walkErr, lostResults: tc.toy.lostResults, deaf: tc.toy.deaf}
				}, opts)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("%q says %v, want it to contain %q", tc.property, err, tc.want)
				}
				return
			}
			t.Fatalf("no property %q", tc.property)
		})
	}
}
