//go:build linux && amd64

package scan

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// bare are builds that leave nothing but scanning: no tables, no frame pointers, and no
// symbols but those that the library exports.
var bare = func() (out []program.Variant) {
	for name, flags := range map[string]string{"O0": "-O0", "O1": "-O1", "Os": "-Os", "O3": "-O3", "O2-noplt": "-O2 -fno-plt", "O2-now": "-O2 -Wl,-z,now"} {
		out = append(out, program.Variant{Name: "linked-" + name + "-omit-notables-stripped", Linkage: program.Linked, Stripped: true, Undescribed: true,
			CFlags: flags + " -g0 -fomit-frame-pointer " + program.NoTables})
	}
	slices.SortFunc(out, func(a, b program.Variant) int { return strings.Compare(a.Name, b.Name) })
	return out
}()

// byDefault are the variants that are measured unless CLEW_SCAN_FULL is set, which
// measures all there are.
var byDefault = []string{"static-O1-g-fp", "linked-O0-omit-notables-stripped", "linked-O2-omit-notables-stripped", "linked-Os-omit-notables-stripped"}

// precision is the share of the frames found by scanning that must be the true callers,
// in percent (plugins/scan/README.md).
const precision = 98

// found is what scans came to: their frames that are the true caller, that are a caller
// further out, or no frames of this stack; and how often a caller was not found.
type found struct{ right, skipping, wrong, none int }

func (s *found) add(o found) {
	s.right += o.right
	s.skipping += o.skipping
	s.wrong += o.wrong
	s.none += o.none
}

func (s found) row() string {
	return fmt.Sprintf(" %d | %d | %d | %d |", s.right, s.skipping, s.wrong, s.none)
}

// count compares a stack with the true one, frame by frame.
func count(stack *unwind.Stack, truth []inprocess.Frame) (n found, bad []string) {
	last := -1
	for i := range stack.Frames {
		f := &stack.Frames[i]
		at := slices.Index(truth[last+1:], inprocess.FrameOf(f))
		switch {
		case f.Strategy != unwind.StrategyScan:
		case f.Trust != unwind.TrustScan:
			bad = append(bad, fmt.Sprintf("frame %d has trust %v", i, f.Trust))
		case at < 0:
			n.wrong++
		case at > 0:
			n.skipping++
		default:
			n.right++
		}
		if at >= 0 {
			last += at + 1
		}
	}
	if last < len(truth)-1 {
		n.none++
		if stack.Stop != unwind.Truncated {
			bad = append(bad, fmt.Sprintf("it ends without %d frames: %s", len(truth)-1-last, stack.Reason))
		}
	}
	return n, bad
}

// plain is a map of the code without models of it.
type plain struct{ assembler.CodeMap }

func (plain) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// TestScanPrecision measures what scanning finds by itself, without any other strategy for
// C code, and as the last resort behind them. The table is in plugins/scan/README.md.
func TestScanPrecision(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	tools := program.Tools{CC: testneed.CC(t), Strip: testneed.Tool(t, "strip")}
	all := append(slices.Clone(program.Variants), bare...)
	if os.Getenv("CLEW_SCAN_FULL") == "" {
		all = slices.DeleteFunc(all, func(v program.Variant) bool { return !slices.Contains(byDefault, v.Name) })
	}
	lists := [][]string{{unwind.StrategyScan}, {unwind.StrategyDWARF, unwind.StrategyFP, unwind.StrategyScan}}
	var sum [2]found
	var table strings.Builder
	for _, v := range all {
		p, err := v.Build(t.TempDir(), tools)
		if err != nil {
			t.Fatal(err)
		}
		var rows [2]found
		for _, sc := range program.Scenarios {
			if sc.Stop != "int3" {
				continue
			}
			s, err := inprocess.Stop(p, sc.Name, t.TempDir())
			if err != nil {
				t.Fatalf("%s, %s: %v", v.Name, sc.Name, err)
			}
			s.Input.Target.Code = plain{s.Input.Target.Code}
			for i, list := range lists {
				stack := engine.New(inprocess.Strategies(list...)).Prepare(context.Background(), s.Input).Stack(context.Background(), &s.Thread, assembler.Options{})
				n, bad := count(&stack, s.Truth())
				rows[i].add(n)
				for _, b := range bad {
					t.Errorf("%s, %s, by %s: %s", v.Name, sc.Name, list, b)
				}
			}
			s.Close()
		}
		fmt.Fprintf(&table, "| %s |%s%s\n", v.Name, rows[0].row(), rows[1].row())
		sum[0].add(rows[0])
		sum[1].add(rows[1])
	}
	t.Logf("alone and as the last resort: right, callers missed, no such frame, none found\n%s| all |%s%s", table.String(), sum[0].row(), sum[1].row())
	for i, n := range sum {
		frames := n.right + n.skipping + n.wrong
		// As the last resort it is asked for few: the code shows the other callers.
		if frames < []int{50, 10}[i] || n.right*100 < precision*frames {
			t.Errorf("by %s, %d of %d frames found by scanning are right; want %d%% of more", lists[i], n.right, frames, precision)
		}
	}
}
