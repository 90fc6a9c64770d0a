package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// scanVariants are builds that leave nothing but scanning: no tables, no frame
// pointers, and no symbols but those that the library exports.
var scanVariants = func() (out []program.Variant) {
	for name, flags := range map[string]string{"O0": "-O0", "O1": "-O1", "Os": "-Os", "O3": "-O3", "O2-noplt": "-O2 -fno-plt", "O2-now": "-O2 -Wl,-z,now"} {
		out = append(out, program.Variant{Name: "linked-" + name + "-omit-notables-stripped", Linkage: program.Linked, Stripped: true, Undescribed: true,
			CFlags: flags + " -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables"})
	}
	slices.SortFunc(out, func(a, b program.Variant) int { return strings.Compare(a.Name, b.Name) })
	return out
}()

// scanDefault are the variants that are measured unless CLEW_SCAN_FULL is set,
// which measures all there are.
var scanDefault = []string{"static-O1-g-fp", "linked-O0-omit-notables-stripped", "linked-O2-omit-notables-stripped", "linked-Os-omit-notables-stripped"}

// scanPrecision is the share of the frames found by scanning that must be the true
// callers, in percent (plugins/scan/README.md).
const scanPrecision = 98

// scanned is what scans came to: their frames that are the true caller, that are a
// caller further out, or no frames of this stack; and how often none was found.
type scanned struct{ right, skipping, wrong, refused int }

func (s *scanned) add(o scanned) {
	s.right += o.right
	s.skipping += o.skipping
	s.wrong += o.wrong
	s.refused += o.refused
}

func (s scanned) row() string {
	return fmt.Sprintf(" %d | %d | %d | %d |", s.right, s.skipping, s.wrong, s.refused)
}

// count compares the frames that scans found with the expected ones, frame by
// frame; a frame is the true caller if it comes next behind the one before.
func (s *scanned) count(stack *stackjson.Stack, want []program.Expected) (bad program.Findings) {
	frames := program.Physical(stack)
	thread := len(want) > 0 && want[len(want)-1].Callee != nil && want[len(want)-1].Callee.Kind == 'T'
	for i := range frames {
		f := &frames[i]
		byScan := f.Strategy == unwind.StrategyScan
		if byScan && f.Trust != stackjson.TrustScan {
			bad.Add("WRONG TRUST of frame %d: %s", f.Index, f.Trust)
		}
		missed := 0
		at := slices.IndexFunc(want, func(e program.Expected) bool {
			if e.Matches(f) {
				return true
			}
			if !e.Optional {
				missed++
			}
			return false
		})
		switch {
		case at >= 0:
			want = want[at+1:]
		case len(want) == 0 && thread && strings.Contains(f.Image, "libc"):
			continue // clone, behind the last return address on record
		}
		switch {
		case !byScan:
		case at < 0:
			s.wrong++
			bad.Add("frame %d, %v %s, does not exist: %v", f.Index, f.PC, f.Function, f.Notes)
		case missed > 0:
			s.skipping++
			bad.Add("frame %d, %v %s, skips %d: %v", f.Index, f.PC, f.Function, missed, f.Notes)
		default:
			s.right++
		}
	}
	if slices.ContainsFunc(want, func(e program.Expected) bool { return !e.Optional }) {
		s.refused++
		if stack.Stop != stackjson.StopTruncated {
			bad.Add("WRONG END without %d frames: %s", len(want), stack.Reason)
		}
	}
	return bad
}

// TestScanPrecision measures what scanning finds by itself, without any other
// strategy for C code, and as the last resort behind them. Where the code itself shows
// every caller nothing is left to scan for. The table is in
// plugins/scan/README.md.
func TestScanPrecision(t *testing.T) {
	all := append(slices.Clone(program.Variants), scanVariants...)
	if os.Getenv("CLEW_SCAN_FULL") == "" {
		all = slices.DeleteFunc(all, func(v program.Variant) bool { return !slices.Contains(scanDefault, v.Name) })
	}
	lists := []string{"scan", "dwarfcfi,fpwalk,scan"}
	var mu sync.Mutex
	rows := make(map[string][]scanned)
	t.Run("variants", func(t *testing.T) {
		for _, v := range all {
			rows[v.Name] = make([]scanned, len(lists))
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				p := build(t, v)
				for _, sc := range program.Scenarios {
					for i, list := range lists {
						s := launch(t, p, sc.Name, sc.Stop, "--format", "json", "--strategies", list)
						stack := &s.stacks(t)[0]
						var n scanned
						bad := n.count(stack, program.Expect(readRecord(t, s.stem, stack.Thread), sc.Groups))
						for _, b := range bad {
							t.Logf("%s-%s by %s: %s", sc.Name, sc.Stop, list, b)
							if strings.HasPrefix(b, "WRONG") {
								t.Error("a scan says more than it knows")
							}
						}
						if len(bad) > 0 {
							s.log(t, stack)
						}
						mu.Lock()
						rows[v.Name][i].add(n)
						mu.Unlock()
					}
				}
			})
		}
	})
	var sum [2]scanned
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "| %s |%s%s\n", v.Name, rows[v.Name][0].row(), rows[v.Name][1].row())
		sum[0].add(rows[v.Name][0])
		sum[1].add(rows[v.Name][1])
	}
	t.Logf("alone and as the last resort: right, callers missed, no such frame, none found\n%s| all |%s%s", b.String(), sum[0].row(), sum[1].row())
	for i, n := range sum {
		found := n.right + n.skipping + n.wrong
		if n.right*100 < scanPrecision*found || n.refused > 0 && found < 50 {
			t.Errorf("by %s, %d of %d frames found by scanning are right, want %d%%; %d were not found", lists[i], n.right, found, scanPrecision, n.refused)
		}
	}
}
