package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// stopped is a program that clew has stopped, and its output.
type stopped struct {
	outcome
	stem string
}

// launch runs clew stack on the program.
func launch(t testing.TB, p program.Program, scenario, stop string, flags ...string) stopped {
	t.Helper()
	testneed.Ptrace(t)
	stem := filepath.Join(t.TempDir(), "record")
	args := append([]string{"stack"}, flags...)
	cmd := exec.Command(clewPath(), append(args, "--", p.Path, scenario, stop, stem)...)
	cmd.Env = p.Env()
	return stopped{run(t, cmd), stem}
}

// check compares the one stack that a stop gave with the program's record.
func (s stopped) check(t testing.TB, v program.Variant, groups []program.GoNames) {
	t.Helper()
	stacks := s.stacks(t)
	if len(stacks) != 1 {
		t.Fatalf("%d stacks", len(stacks))
	}
	stack := &stacks[0]
	var bad program.Findings
	bad.CheckForm(stack, mappings(t, s.stem+".maps"))
	want := program.Expect(readRecord(t, s.stem, stack.Thread), groups)
	if v.Undescribed {
		bad.CheckHonest(stack, want)
	} else {
		bad.CheckExact(stack, want)
	}
	report(t, bad, gapOf(t))
	if code := map[stackjson.Stop]int{stackjson.StopEnd: done, stackjson.StopTruncated: truncated}[stack.Stop]; s.code != code {
		t.Errorf("exit code %d, want %d", s.code, code)
	}
	if t.Failed() {
		s.log(t, stack)
	}
}

func (s stopped) log(t testing.TB, stack *stackjson.Stack) {
	t.Helper()
	record, _ := os.ReadFile(s.stem + "." + itoa(stack.Thread))
	t.Logf("clew's stack:\n%sthe program's record:\n%s", show(stack), clip(string(record)))
}

// TestTruth compares the stacks of programs that stop by themselves, in every
// way to build them, with their records.
func TestTruth(t *testing.T) {
	for _, v := range slices.Concat(program.Variants, program.MuslVariants) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			for _, s := range program.Scenarios {
				t.Run(s.Name+"-"+s.Stop, func(t *testing.T) {
					launch(t, p, s.Name, s.Stop, "--format", "json").check(t, v, s.Groups)
				})
			}
		})
	}
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
