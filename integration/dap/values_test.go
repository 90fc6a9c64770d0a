package dap

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var (
	valuePrograms = flag.Int("values", 8, "generated programs whose values are compared")
	valuesFrom    = flag.Int("values.from", 0, "the first of them")
	valuesKept    = flag.String("values.keep", "", "`folder` for the programs")
)

// valueCount counts answers about leaves. Told are those that are not what the program has, and that GDB shows alike: the compiler
// has described them so.
type valueCount struct{ leaves, right, unknown, told, wrong int }

func (c *valueCount) String() string {
	return fmt.Sprintf("%d leaves: %d right, %d unknown, %d as the compiler has described them wrongly, %d wrong", c.leaves, c.right, c.unknown, c.told, c.wrong)
}

// truthLine is a line in which a program writes what a leaf holds.
var truthLine = regexp.MustCompile(`(?m)^leaf (f\d+) (\S+) (\S+)$`)

// TestValues: no leaf of generated programs, which write down themselves what they hold, is shown wrong, but for those few that
// the compiler has described wrongly; without optimization all are right. GDB is asked the same, beside.
func TestValues(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	gcc := testneed.CC(t)
	gdb := testneed.Tool(t, "gdb")
	compilers := [][]string{{gcc, "-xc"}, {gcc, "-xc++"}}
	if clang, err := exec.LookPath("clang"); err == nil {
		compilers = append(compilers, []string{clang, "-xc"}, []string{clang, "-xc++"})
	}
	modes := []string{"-O0", "-O2", "-Og", "-O1", "-O3", "-O2 -gdwarf-4", "-O0 -gdwarf-4"}
	clew, peer := map[string]*valueCount{}, map[string]*valueCount{}
	for i := *valuesFrom; i < *valuesFrom+*valuePrograms; i++ {
		compiler, mode := compilers[i%len(compilers)], modes[i/len(compilers)%len(modes)]
		optimized := strings.Fields(mode)[0]
		for _, all := range []map[string]*valueCount{clew, peer} {
			if all[optimized] == nil {
				all[optimized] = &valueCount{}
			}
		}
		compareValues(t, uint64(i), compiler, mode, gdb, clew[optimized], peer[optimized])
	}
	for mode, c := range clew {
		t.Logf("%s: clew %s; gdb %s", mode, c, peer[mode])
		if c.wrong > 0 || c.leaves == 0 || c.told > c.leaves/100 || mode == "-O0" && c.right < c.leaves {
			t.Errorf("%s: %s", mode, c)
		}
	}
}

// compareValues compares what one program writes with what is shown of it.
func compareValues(t *testing.T, seed uint64, compiler []string, mode, gdb string, clew, peer *valueCount) {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 31)), cxx: compiler[1] == "-xc++"}
	p := g.program(4)
	dir := t.TempDir()
	if *valuesKept != "" {
		dir = *valuesKept
	}
	source, exe := filepath.Join(dir, "g.c"), filepath.Join(dir, "g")
	if err := os.WriteFile(source, []byte(p.source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-g", "-w"}, append(strings.Fields(mode), compiler[1], source, "-o", exe)...)
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	truth := leavesOf(t, gdb, exe)
	if len(truth) == 0 {
		t.Fatalf("%s wrote nothing", exe)
	}
	got := clewValues(t, exe, truth)
	other := gdbValues(t, gdb, exe, truth)
	for i, leaf := range truth {
		name := fmt.Sprintf("%s %s, seed %d: %s of %s", compiler, mode, seed, leaf[2], leaf[1])
		count(clew, leaf[3], got[i], func() {
			if !isUnknown(other[i]) && sameValue(other[i], got[i]) {
				t.Logf("%s: the compiler has described it as %s, and it is %s", name, got[i], leaf[3])
				clew.wrong--
				clew.told++
				return
			}
			t.Errorf("%s is %q, want %s (gdb: %q)", name, got[i], leaf[3], other[i])
		})
		count(peer, leaf[3], other[i], func() {})
		if isUnknown(got[i]) && sameValue(leaf[3], other[i]) {
			t.Logf("%s is %s, and gdb has it: %s", name, got[i], leaf[3])
		}
	}
}

func isUnknown(text string) bool {
	for _, s := range []string{"<", "no such frame", "optimized out", "No symbol", "Cannot access", "value has been", "There is no"} {
		if strings.HasPrefix(text, s) || strings.Contains(text, "<optimized out>") {
			return true
		}
	}
	return text == ""
}

func count(c *valueCount, want, got string, wrong func()) {
	c.leaves++
	switch {
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
	got, _, _ = strings.Cut(got, " ") // characters follow their number
	if n, ok := enumerators[got]; ok {
		got = n
	}
	if want == got {
		return true
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

// gdbValues asks GDB for each leaf.
func gdbValues(t *testing.T, gdb, exe string, truth [][]string) []string {
	var script bytes.Buffer
	script.WriteString("set debuginfod enabled off\nset pagination off\nset confirm off\nset width 0\nset print elements 0\nrun\n")
	frame := ""
	for i, leaf := range truth {
		if leaf[1] != frame {
			frame = leaf[1]
			fmt.Fprintf(&script, "python\ntry:\n  gdb.execute('frame function %s')\n  there = True\nexcept gdb.error:\n  there = False\nend\n", frame)
		}
		fmt.Fprintf(&script, "python\ntry:\n  if there: print('value %d', gdb.execute('output %s', to_string=True))\nexcept gdb.error as e:\n  print('value %d <' + str(e))\nend\n", i, leaf[2], i)
	}
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, script.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	text, _ := exec.Command(gdb, "-nx", "-batch", "-x", path, exe).CombinedOutput()
	out := make([]string, len(truth))
	for _, m := range regexp.MustCompile(`(?m)^value (\d+) (.*)$`).FindAllStringSubmatch(string(text), -1) {
		var i int
		if _, err := fmt.Sscan(m[1], &i); err == nil && i < len(out) {
			out[i] = m[2]
		}
	}
	return out
}

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
		name, _, _ := strings.Cut(f.Name, "(")
		name, _, _ = strings.Cut(name, " ")
		name, _, _ = strings.Cut(name, ".")
		frames[name] = f.ID
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
