package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind/stackjson"
)

var toMain = []string{"main.main", "runtime.main", "runtime.goexit"}

// calls lists the Go functions around one call of C.
func calls(names ...string) goNames { return names }

func andMain(names ...string) goNames { return append(slices.Clone(names), toMain...) }

// scenarios are those of the program native that stop by themselves.
var scenarios = []struct {
	name, stop string
	groups     []goNames
}{
	{"plain", "int3", []goNames{andMain("main._Cfunc_outer", "main.second", "main.first")}},
	{"callback", "int3", []goNames{
		calls("main.inGo", "main.pour"),
		andMain("main._Cfunc_outer_calling", "main.calling")}},
	{"nested", "int3", []goNames{
		calls("main._Cfunc_outer", "main.second", "main.first", "main.pour"),
		calls("main._Cfunc_outer_calling", "main.calling2", "main.pour"),
		andMain("main._Cfunc_outer_calling", "main.calling")}},
	{"deep", "int3", []goNames{andMain("main._Cfunc_outer_deep", "main.deep")}},
	{"thread", "int3", nil},
	{"thread-calling", "int3", []goNames{calls("main._Cfunc_outer", "main.second", "main.first", "main.pour")}},
	{"plain", "raise", []goNames{andMain("main._Cfunc_outer", "main.second", "main.first")}},
	{"thread-signal", "raise", nil},
}

// stopped is a program that clew has stopped, and what it printed.
type stopped struct {
	outcome
	stem string
}

// launch runs clew stack on the program.
func launch(t testing.TB, p program, scenario, stop string, flags ...string) stopped {
	t.Helper()
	testneed.Ptrace(t)
	stem := filepath.Join(t.TempDir(), "record")
	args := append([]string{"stack"}, flags...)
	cmd := exec.Command(clewPath(), append(args, "--", p.path, scenario, stop, stem)...)
	cmd.Env = p.env()
	return stopped{run(t, cmd), stem}
}

// check compares the one stack that a stop gave with the program's record.
func (s stopped) check(t testing.TB, v variant, groups []goNames) {
	t.Helper()
	stacks := s.stacks(t)
	if len(stacks) != 1 {
		t.Fatalf("%d stacks", len(stacks))
	}
	stack := &stacks[0]
	var bad findings
	bad.checkForm(stack, mappings(t, s.stem+".maps"))
	want := expect(readRecord(t, s.stem, stack.Thread), groups)
	if v.undescribed {
		bad.checkHonest(stack, want)
	} else {
		bad.checkExact(stack, want)
	}
	bad.report(t, gapOf(t))
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
// way to build them, with what they recorded.
func TestTruth(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			for _, s := range scenarios {
				t.Run(s.name+"-"+s.stop, func(t *testing.T) {
					launch(t, p, s.name, s.stop, "--format", "json").check(t, v, s.groups)
				})
			}
		})
	}
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
