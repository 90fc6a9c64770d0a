package dap

import (
	"flag"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var (
	valuePrograms = flag.Int("values", 8, "generated programs whose values are compared")
	valuesFrom    = flag.Int("values.from", 0, "the first of them")
	valuesPeers   = flag.String("values.peers", "gdb", "debuggers that are asked the same: gdb, or gdb,lldb")
	valuesKept    = flag.String("values.keep", "", "`folder` for the programs")
)

// valueCount counts answers about leaves. Told are those that are not what the program has, and that GDB or LLDB show wrong too:
// the compiler has described them so.
type valueCount struct{ leaves, right, optimized, unknown, told, wrong int }

func (c *valueCount) String() string {
	return fmt.Sprintf("%d leaves: %d right, %d optimized out, %d unknown, %d as the compiler has described them wrongly, %d wrong", c.leaves, c.right, c.optimized, c.unknown, c.told, c.wrong)
}

// truthLine is a line in which a program writes what a leaf holds.
var truthLine = regexp.MustCompile(`(?m)^leaf (f\d+) (\S+) (\S+)$`)

// modes are those in which programs are compiled, the first of them in short runs.
var modes = []string{
	"-O0", "-O2", "-Og", "-O1", "-O3", "-O2 -gdwarf-4", "-O0 -gdwarf-4", "-O2 -flto", "-O2 -gsplit-dwarf", "-O0 -gsplit-dwarf", "-Os", "-O2 -fno-omit-frame-pointer",
	"-O1 -gdwarf-4", "-O3 -march=native", "-Og -gsplit-dwarf", "-O3 -flto",
}

// TestValues: no leaf of generated programs, which write down themselves what they hold, is shown wrong, but for those few that
// the compiler has described wrongly; without optimization all are right. GDB is asked the same, beside, and LLDB where it is there.
func TestValues(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	gcc := testneed.CC(t)
	p := otherDebuggers{gdb: testneed.Tool(t, "gdb")}
	for _, name := range []string{"lldb", "lldb-19", "lldb-14"} {
		if path, err := exec.LookPath(name); err == nil && p.lldb == "" && strings.Contains(*valuesPeers, "lldb") {
			p.lldb = path
		}
	}
	compilers := [][]string{{gcc, "-xc"}, {gcc, "-xc++"}}
	for _, name := range []string{"clang", "clang-19"} {
		if clang, err := exec.LookPath(name); err == nil {
			compilers = append(compilers, []string{clang, "-xc"}, []string{clang, "-xc++"})
		}
	}
	c := comparison{counts: make(map[string]*[3]valueCount), lacks: make(map[string]int)}
	for i := *valuesFrom; i < *valuesFrom+*valuePrograms; i++ {
		compiler, mode := compilers[i%len(compilers)], modes[i/len(compilers)%len(modes)]
		if strings.Contains(compiler[0], "clang") { // Debian's has no linker for it
			mode = strings.Replace(mode, "-flto", "-fno-inline", 1)
		}
		g := generator{Rand: rand.New(rand.NewPCG(uint64(i), 31)), cxx: compiler[1] == "-xc++"}
		dir := t.TempDir()
		if *valuesKept != "" {
			dir = *valuesKept
		}
		source, exe := filepath.Join(dir, "g.c"), filepath.Join(dir, "g")
		if err := os.WriteFile(source, []byte(g.program(6).source), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-g", "-w"}, append(strings.Fields(mode), compiler[1], source, "-o", exe, "-lstdc++")...)
		// Other debuggers have the same code with DWARF that is not split off: they cannot read all of what is.
		whole := filepath.Join(dir, "whole")
		for _, args := range [][]string{args, slices.DeleteFunc(append(slices.Clone(args), "-o", whole), func(a string) bool { return a == "-gsplit-dwarf" })} {
			compile := exec.Command(compiler[0], args...)
			compile.Dir = dir // what is split off lands there
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		c.program(t, p, exe, whole, fmt.Sprintf("%s %s %s, seed %d", filepath.Base(compiler[0]), compiler[1], mode, i), strings.Fields(mode)[0])
	}
	c.report(t)
}

// comparison compares debuggers' answers with what programs write.
type comparison struct {
	counts map[string]*[3]valueCount // clew's, GDB's, LLDB's by the optimization
	lacks  map[string]int            // what a peer has and clew has not, by clew's reason
}

// program compares one program; theirs is what other debuggers are given of it.
func (c *comparison) program(t *testing.T, p otherDebuggers, exe, theirs, name, mode string) {
	truth := leavesOf(t, p.gdb, exe)
	if len(truth) == 0 {
		t.Fatalf("%s wrote nothing", exe)
	}
	if c.counts[mode] == nil {
		c.counts[mode] = new([3]valueCount)
	}
	n := c.counts[mode]
	got := clewValues(t, exe, truth)
	others := [2][]string{gdbValues(t, p.gdb, theirs, truth), lldbValues(t, p.lldb, theirs, truth)}
	for i, leaf := range truth {
		name := fmt.Sprintf("%s: %s of %s", name, leaf[2], leaf[1])
		if mode == "-O0" && isUnknown(got[i]) {
			t.Logf("%s is %s, want %s (gdb: %q, lldb: %q)", name, got[i], leaf[3], others[0][i], others[1][i])
		}
		count(&n[0], leaf[3], got[i], func() {
			for _, other := range others { // by place, another process has other values there
				if other[i] != notAsked && !isUnknown(other[i]) && !sameValue(leaf[3], other[i]) {
					t.Logf("%s: the compiler has described it as %s, and it is %s", name, got[i], leaf[3])
					n[0].wrong--
					n[0].told++
					return
				}
			}
			t.Errorf("%s is %q, want %s (gdb: %q, lldb: %q)", name, got[i], leaf[3], others[0][i], others[1][i])
		})
		for k, other := range others {
			if other[i] == notAsked {
				continue
			}
			count(&n[k+1], leaf[3], other[i], func() {})
			if isUnknown(got[i]) && sameValue(leaf[3], other[i]) {
				debugger := [2]string{"gdb", "lldb"}[k]
				c.lacks[debugger+": "+reason.ReplaceAllString(got[i], "N")]++
				t.Logf("%s is %s, and %s has it: %s", name, got[i], debugger, leaf[3])
			}
		}
	}
}

// reason finds what differs from case to case in a reason.
var reason = regexp.MustCompile(`\b0x[0-9a-f]+|\b\d+|\b(r[a-ds][xip]|r\d+|e[a-d]x|xmm\d+)\b`)

func (c *comparison) report(t *testing.T) {
	for _, why := range slices.Sorted(maps.Keys(c.lacks)) {
		t.Logf("%d leaves are %s", c.lacks[why], why)
	}
	for _, mode := range slices.Sorted(maps.Keys(c.counts)) {
		n := c.counts[mode]
		t.Logf("%s: clew %s; gdb %s; lldb %s", mode, &n[0], &n[1], &n[2])
		if n[0].wrong > 0 || n[0].leaves == 0 || n[0].leaves > 1000 && n[0].told > n[0].leaves/30 || mode == "-O0" && n[0].right+n[0].told+n[0].optimized < n[0].leaves {
			t.Errorf("%s: %s", mode, &n[0])
		}
		for k, peer := range []string{"gdb", "lldb"} {
			if mode == "-O2" && n[0].leaves > 1000 && n[k+1].right > n[0].right {
				t.Errorf("%s: %s has %d right, clew %d", mode, peer, n[k+1].right, n[0].right)
			}
		}
	}
}

func isUnknown(text string) bool {
	for _, s := range []string{"<", "no such frame", "optimized out", "No symbol", "Cannot access", "value has been", "There is no"} {
		if strings.HasPrefix(text, s) || strings.Contains(text, "<optimized out>") || strings.Contains(text, "there is no variable") || strings.Contains(text, "has no member Some") {
			return true
		}
	}
	return text == ""
}

func count(c *valueCount, want, got string, wrong func()) {
	c.leaves++
	switch {
	case strings.Contains(got, "<optimized out>"):
		c.optimized++
	case isUnknown(got):
		c.unknown++
	case sameValue(want, got):
		c.right++
	default:
		c.wrong++
		wrong()
	}
}

var enumerators = map[string]string{"E0_a": "0", "E0_b": "3", "E0_c": "70000", "true": "1", "false": "0"}

// sameValue compares a number that C wrote with one that a debugger shows.
func sameValue(want, got string) bool {
	if _, behind, ok := strings.Cut(got, ": "); ok && strings.Contains(got, "@0x") { // a reference
		got = behind
	}
	if !strings.HasPrefix(got, "byte ") {
		got, _, _ = strings.Cut(got, " ") // characters follow their number
	}
	for _, text := range []*string{&got, &want} {
		if n, ok := enumerators[*text]; ok {
			*text = n
		}
	}
	if want == got {
		return true
	}
	var x, y int
	if _, err := fmt.Sscanf(got, "byte %d", &y); err == nil {
		_, err := fmt.Sscan(want, &x)
		return err == nil && int8(x) == int8(y)
	}
	a, _, err := big.ParseFloat(want, 10, 200, big.ToNearestEven)
	if err != nil {
		return false
	}
	b, _, err := big.ParseFloat(got, 10, 200, big.ToNearestEven)
	if err != nil || !strings.ContainsAny(want+got, ".e") {
		return false
	}
	if x, _ := a.Float32(); len(got) < len("-1.23456789e+09") { // as few digits as name it
		y, _ := b.Float32()
		return x == y
	}
	diff := new(big.Float).Sub(a, b)
	bound := new(big.Float).Mul(new(big.Float).Abs(a), big.NewFloat(2e-8))
	return diff.Abs(diff).Cmp(bound) <= 0
}

// leavesOf lets the program run past its stop, and returns what it has written.
func leavesOf(t *testing.T, gdb, exe string) [][]string {
	out, err := exec.Command(gdb, "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "handle SIGTRAP nostop noprint nopass", "-ex", "run", exe).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return truthLine.FindAllStringSubmatch(string(out), -1)
}

// functionName finds the generated function's in a debugger's.
var functionName = regexp.MustCompile(`\bf\d+\b`)

// clewValues asks for each leaf in an editor's session.
func clewValues(t *testing.T, exe string, truth [][]string) []string {
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	thread := threadOf(t, c.event("stopped"))
	frames := map[string]int64{}
	for _, f := range c.stack(thread, 0, 50).StackFrames {
		name := functionName.FindString(f.Name)
		if _, known := frames[name]; !known && name != "" {
			frames[name] = f.ID
		}
	}
	out := make([]string, len(truth))
	for i, leaf := range truth {
		id, ok := frames[leaf[1]]
		if !ok {
			out[i] = "no such frame"
			continue
		}
		m := c.request("evaluate", object{"expression": leaf[2], "frameId": id, "context": "watch"})
		var body struct{ Result string }
		switch {
		case !m.Success:
			out[i] = "refused: " + string(m.Bytes())
		case m.Decode("body", &body) == nil:
			out[i] = body.Result
		}
	}
	c.disconnect()
	return out
}
