package macho

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// nested is how deep a program's calls go at least.
const nested = 60

// fullSeeds is how many programs a full run has of each kind.
const fullSeeds = 4

// round is one program.
type round struct {
	target target
	level  string
	seed   uint64
}

func (r round) String() string { return fmt.Sprintf("%s-%d", r.kind(), r.seed) }

// kind is what several seeds have in common.
func (r round) kind() string { return r.target.name + strings.ReplaceAll(r.level, " ", "") }

// rounds are all of them, or one of each architecture.
func rounds() (list []round) {
	if os.Getenv("CLEW_MACHO") != "full" {
		return []round{{targets[0], "-O2", 1}, {targets[1], "-Os", 1}}
	}
	for _, a := range targets {
		for _, level := range append([]string{"-O0", "-O1", "-O2", "-O3", "-Os"}, a.further...) {
			for seed := range uint64(fullSeeds) {
				list = append(list, round{a, level, seed + 1})
			}
		}
	}
	return list
}

// TestEveryInstruction: the whole stack is exact at the stop, and at 99.9 % of
// the instructions before and after it; where it is not, it ends early or has
// the trust of a scan.
func TestEveryInstruction(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	all := map[string]*tally{}
	for _, r := range rounds() {
		t.Run(r.String(), func(t *testing.T) {
			p := build(t, r.target, r.level, r.seed, nested)
			tr := newTracer(t, &p)
			tr.run()
			y := &tr.tally
			t.Logf("depth %d, %d notes, %d frames | %v%s", tr.deepest, tr.notes, y.frames, y, y.reasons())
			if tr.deepest <= nested || tr.notes == 0 {
				t.Errorf("only %d activations, %d notes", tr.deepest, tr.notes)
			}
			if tr.atBottom != tr.deepest {
				t.Errorf("the stack at the stop is not exact")
			}
			if y.wrong > 0 || (y.compared-y.exact)*1000 > y.compared {
				t.Errorf("%d of %d stacks are not exact, %d wrong", y.compared-y.exact, y.compared, y.wrong)
			}
			for _, sum := range []string{r.kind(), r.target.name} {
				if all[sum] == nil {
					all[sum] = &tally{}
				}
				all[sum].add(y)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Logf("| %s | %v |", name, all[name])
	}
}
