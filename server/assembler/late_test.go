package assembler

import (
	"context"
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// late is a strategy that answers too late so many times.
type late struct {
	fake
	times int
	err   error
}

type tooLate struct{ error }

func (tooLate) Timeout() bool { return true }

func (l *late) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	if l.times--; l.times >= 0 {
		return nil, l.err
	}
	return l.fake.Walk(ctx, requests)
}

// TestLateStrategy: a strategy that was late is asked once more before others guess; where it fails the stack says so. One
// that fails in another way is not asked again.
func TestLateStrategy(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		err   error
		by    string
		noted bool
	}{
		"never late":      {0, nil, "tables", false},
		"late once":       {1, tooLate{errors.New("no answer within 250ms")}, "tables", false},
		"late twice":      {2, tooLate{errors.New("no answer within 250ms")}, "scan", true},
		"another failure": {1, errors.New("broken"), "scan", true},
	} {
		steps := map[uint64][]unwind.Step{leafPC: {bySP(step(sp0+16, midPC, 0))}}
		tables := &late{fake{name: "tables", steps: steps}, c.times, c.err}
		a := with(&tables.fake).behind(&scanner{fake{name: "scan", steps: steps}})
		a.Strategies[0].Description.Trust, a.Strategies[0].Unwinder = unwind.TrustCFI, tables
		s := a.Stack(context.Background(), target(unwind.Windows{}), thread(leafPC, sp0, 0, cStack), Options{MaxFrames: 2})
		if len(s.Frames) != 2 || s.Frames[1].Strategy != c.by || (len(s.Notes) == 1 && LeftOut(s.Notes[0])) != c.noted {
			t.Errorf("%s: %#x by %s, %q", name, pcs(s), s.Frames[1].Strategy, s.Notes)
		}
	}
}
