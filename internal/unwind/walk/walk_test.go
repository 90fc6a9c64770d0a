package walk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// ends makes a walk of one step of 16 bytes each, up to the state's number.
func ends(context context.Context, w Walk, depth *int) error {
	for n := 0; ; n++ {
		if n == *depth {
			w.Stop(unwind.StopNoRule, "nothing more")
			break
		}
		w.Push().CFA = uint64(16 * n)
		if !w.GoesOn(unwind.Code(uint64(0x1000*(n+1)), unwind.KindReturn)) {
			break
		}
	}
	return context.Err()
}

func TestWalk(t *testing.T) {
	depth := 10_000
	u := &Unwinder[int]{Description: unwind.Description{Name: "u", Arches: []unwind.Arch{unwind.AMD64}}, Rules: "rules", Run: ends}
	u.Set(&depth)
	ctx := context.Background()
	request := func(arch unwind.Arch, most int) unwind.WalkRequest {
		r := unwind.WalkRequest{Arch: arch, MaxFrames: most}
		r.Registers.Set(arch.SP(), 0)
		r.Stack = unwind.Windows{{Addr: 0, Data: make([]byte, 1<<12)}}
		return r
	}
	got, err := u.Walk(ctx, []unwind.WalkRequest{request(unwind.AMD64, 1<<20), request(unwind.AMD64, 3), request(unwind.AMD64, 0), request(unwind.S390X, 3)})
	if err != nil || len(got[0].Steps) != depth || len(got[1].Steps) != 3 || got[1].Stop != unwind.StopLimit || got[2].Stop != unwind.StopLimit ||
		got[3].Stop != unwind.StopNoRule || got[3].Reason != "no rules for s390x" {
		t.Fatalf("%v, %+v", err, got[1:])
	}
	for n, s := range got[0].Steps {
		if s.CFA != uint64(16*n) {
			t.Fatalf("step %d has CFA %d", n, s.CFA)
		}
	}
	if err := u.Yield(ctx, unwind.RangeSet{{Start: 0x1000, End: 0x2000}}); err != nil {
		t.Fatal(err)
	}
	// The second return address lies behind a call in the range.
	if got, _ := u.Walk(ctx, []unwind.WalkRequest{request(unwind.AMD64, 9)}); len(got[0].Steps) != 2 || got[0].Stop != unwind.StopYield {
		t.Errorf("%d steps, %v", len(got[0].Steps), got[0].Stop)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := u.Walk(cancelled, []unwind.WalkRequest{request(unwind.AMD64, 9)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestFailed: every error of a rule ends the walk in its way.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		err  error
		sure bool
		stop unwind.WalkStop
		why  string
	}{
		{rule.ErrOutermost, true, unwind.StopEnd, "undefined"},
		{&rule.EndError{CFA: 1, PC: 2}, true, unwind.StopEnd, "0x2"},
		{&rule.EndError{CFA: 1, PC: 2}, false, unwind.StopBroken, "0x2"},
		{&rule.MissingMemory{Range: unwind.Range{Start: 1, End: 2}}, true, unwind.StopMemory, ""},
		{&rule.MissingRegister{Name: "rbx", For: "the CFA"}, true, unwind.StopNoRule, "rbx"},
		{&rule.ImpossibleError{CFA: 1, PC: 2, Reason: "too high"}, true, unwind.StopBroken, "too high"},
		{errors.New("bad expression"), true, unwind.StopBroken, "bad expression"},
	} {
		w := Walk{Result: new(unwind.WalkResult)}
		if w.Failed(c.err, c.sure) || w.Result.Stop != c.stop || !strings.Contains(w.Result.Reason, c.why) {
			t.Errorf("%v: %+v", c.err, w.Result)
		}
	}
}
