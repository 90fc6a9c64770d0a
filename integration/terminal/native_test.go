//go:build linux

package terminal

import (
	"encoding/json"
	"fmt"
	"os"

	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// frame is a line of a terminal's stack.
type frame struct {
	index int
	pc    uint64
	name  string
}

var frameLine = regexp.MustCompile(`(?m)^\t*\s*(\d+)  0x([0-9a-f]{16}) in (.*)$`)

// framesOf reads the stacks in a transcript, one after the other.
func framesOf(t *testing.T, text string) (out [][]frame) {
	t.Helper()
	for _, m := range frameLine.FindAllStringSubmatch(text, -1) {
		index, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		pc, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if index == 0 {
			out = append(out, nil)
		}
		if len(out) == 0 {
			break
		}
		last := &out[len(out)-1]
		if index != len(*last) {
			t.Fatalf("frame %d follows %d frames:\n%s", index, len(*last), text)
		}
		*last = append(*last, frame{index, pc, m[3]})
	}
	if len(out) == 0 {
		t.Fatalf("no stack:\n%s", text)
	}
	return out
}

// assembled is what `clew stack` says of the same stop.
func assembled(t *testing.T, p program.Program, args ...string) stackjson.Stack {
	t.Helper()
	cmd := exec.Command(binary("clew"), append([]string{"stack", "--format", "json", "--", p.Path}, args...)...)
	cmd.Env = p.Env()
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 3 {
		t.Fatalf("clew stack: %v: %s", err, out)
	}
	var answer struct{ Stacks []stackjson.Stack }
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Stacks) != 1 {
		t.Fatalf("clew stack: %v: %s", err, out)
	}
	return answer.Stacks[0]
}

// compare demands that a terminal's stack is what `clew stack` says.
func compare(t *testing.T, got []frame, want *stackjson.Stack) {
	t.Helper()
	if len(got) != len(want.Frames) {
		t.Errorf("%d frames, clew stack has %d", len(got), len(want.Frames))
	}
	for i := range min(len(got), len(want.Frames)) {
		w := &want.Frames[i]
		mark := map[stackjson.Trust]string{stackjson.TrustFramePointer: " [by frame pointer]", stackjson.TrustScan: " [scanned: may be wrong]"}[w.Trust]
		name, marked := strings.CutSuffix(got[i].name, mark)
		if got[i].pc != uint64(w.PC) || !marked || strings.HasSuffix(name, "]") ||
			w.Function != "" && name != w.Function {
			t.Errorf("frame %d is %#x %s, clew stack has %v %s, trust %s", i, got[i].pc, got[i].name, w.PC, w.Function, w.Trust)
		}
	}
}

// TestNative: in a program with C code, every way to see the stack is that of
// `clew stack`, and frames have the same numbers everywhere.
func TestNative(t *testing.T) {
	need(t)
	for _, variant := range []string{"static-O1-g-fp", "linked-O2-omit-stripped", "linked-O2-omit-notables-stripped"} {
		p := native(t, variant)
		for _, scenario := range []string{"plain", "nested", "thread"} {
			t.Run(variant+"/"+scenario, func(t *testing.T) {
				testkit.SameAddresses(t)
				args := []string{scenario, "int3", filepath.Join(t.TempDir(), "record")}
				want := assembled(t, p, args...)
				s := session{tool: "clew", args: []string{"exec"}, target: append([]string{p.Path}, args...), env: p.Env(), script: frameScript(len(want.Frames))}
				out := s.play(t)
				checkFrames(t, out, &want)
			})
		}
	}
}

// frameScript shows a stack of so many frames in every way; checkFrames looks at the output.
func frameScript(frames int) []string {
	script := []string{"continue", "stack 300", "goroutines -t 300"}
	for i := range frames {
		script = append(script, fmt.Sprintf("frame %d", i), "regs", fmt.Sprintf("frame %d list", i))
	}
	return append(script, fmt.Sprintf("frame %d locals", frames+1), "frame 1", "up", "down", "stack 0")
}

func checkFrames(t *testing.T, out string, want *stackjson.Stack) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(out)
		}
	}()
	listed := framesOf(t, out)
	if len(listed) < 2 {
		t.Fatal("no stacks")
	}
	compare(t, listed[0], want)
	first, _, _ := strings.Cut(out, "Goroutine")
	if truncated := want.Stop == stackjson.StopTruncated; strings.Contains(first, "(truncated)") != truncated || strings.Contains(first, "error: truncated: ") != truncated {
		t.Errorf("the stack should be %s", want.Stop)
	}
	if want.Goroutine != 0 && !slices.ContainsFunc(listed[1:], func(s []frame) bool { return slices.Equal(s, listed[0]) }) {
		t.Errorf("goroutines -t does not show the stack of goroutine %d", want.Goroutine)
	}
	// frame N, its registers, up and down are about the frame with that number.
	frames := regexp.MustCompile(`(?m)^Frame (\d+): .* \(PC: ([0-9a-f]+)\)$`).FindAllStringSubmatch(out, -1)
	wantFrames := make([]int, 0, len(want.Frames)+3)
	for i := range want.Frames {
		wantFrames = append(wantFrames, i)
	}
	wantFrames = append(wantFrames, 1, 2, 1)
	if len(frames) != len(wantFrames) {
		t.Fatalf("%d frames shown, want %d", len(frames), len(wantFrames))
	}
	for i, n := range wantFrames {
		if pc := fmt.Sprintf("%x", uint64(want.Frames[n].PC)); frames[i][1] != strconv.Itoa(n) || frames[i][2] != pc {
			t.Errorf("%s, want frame %d at %s", frames[i][0], n, pc)
		}
	}
	registers := regexp.MustCompile(`(?m)^ *Rip = 0x0*([0-9a-f]+)(?:\t.*)?$`).FindAllStringSubmatch(out, -1)
	if len(registers) != len(want.Frames) {
		t.Errorf("%d frames have registers", len(registers))
	}
	for i := range min(len(registers), len(want.Frames)) {
		if pc := fmt.Sprintf("%x", uint64(want.Frames[i].PC)); registers[i][1] != pc {
			t.Errorf("frame %d has the registers of another: Rip %s, want %s", i, registers[i][1], pc)
		}
	}
	if !strings.Contains(out, "does not exist in goroutine") {
		t.Error("a frame beyond the stack has variables")
	}
	if strings.Contains(out, "0x0000000000000000 in") {
		t.Error("a frame without an address")
	}
}

var checksum = regexp.MustCompile(`checksum \d+`)

// steps is the number of steps out of C code to main's own.
const steps = 10

// stepScript steps out so often, and lets the program end.
func stepScript() []string {
	script := []string{"continue"}
	for range steps {
		script = append(script, "stack 1", "stepout")
	}
	return append(script, "stack 1", "continue")
}

// checkSteps demands that each step of the script has led to the caller that the stack has shown, or was
// refused.
func checkSteps(t *testing.T, out string) (refused int) {
	t.Helper()
	at := framesOf(t, out)
	if len(at) != steps+1 {
		t.Fatalf("%d stacks:\n%s", len(at), out)
	}
	refused = strings.Count(out, "stepOut refused: ") + strings.Count(out, "behind a Delve server clew cannot stop at the right one")
	led := 0
	for i := range steps {
		if slices.Equal(at[i], at[i+1]) {
			continue // refused, and nothing has run
		}
		led++
		if at[i+1][0].pc != at[i][1].pc {
			t.Errorf("a step out of %s led to %#x, not to the caller at %#x", at[i][0].name, at[i+1][0].pc, at[i][1].pc)
		}
	}
	if led+refused != steps {
		t.Errorf("%d steps led somewhere, %d were refused, of %d", led, refused, steps)
	}
	return refused
}

// TestStepOut steps out of C code until main's own: each step leads to the caller
// that the stack has shown, glue too, and the program ends as it does alone.
func TestStepOut(t *testing.T) {
	need(t)
	config := t.TempDir()
	if err := os.Mkdir(filepath.Join(config, "clew"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "clew", "clew.json"), []byte(`{"stepThroughGlue": false}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"static-O1-g-fp", "linked-O2-omit-stripped", "linked-O2-omit-notables-stripped"} {
		t.Run(variant, func(t *testing.T) {
			p := native(t, variant)
			args := []string{"plain", "int3", filepath.Join(t.TempDir(), "record")}
			s := session{tool: "clew", args: []string{"exec"}, target: append([]string{p.Path}, args...), env: p.Env(), script: []string{"continue"}}
			dlv := s
			dlv.tool, dlv.script = "dlv", []string{"continue", "continue"} // the second where it has stopped
			alone := checksum.FindString(dlv.play(t))
			s.env = append(s.env, "XDG_CONFIG_HOME="+config)
			s.script = stepScript()
			out := s.play(t)
			if refused := checkSteps(t, out); refused > 0 && variant != "linked-O2-omit-notables-stripped" {
				t.Errorf("%d steps were refused:\n%s", refused, out)
			}
			if !strings.Contains(out, "has exited with status 0") || checksum.FindString(out) != alone {
				t.Errorf("the program is damaged; it says %q where nobody steps:\n%s", alone, out)
			}
		})
	}
}

// TestOwnFrames: in a frame that Delve does not have, variables are right where
// DWARF describes them.
func TestOwnFrames(t *testing.T) {
	need(t)
	exe := through(t)
	dlv := session{tool: "dlv", args: []string{"exec"}, target: []string{exe}, script: []string{"continue", "stack"}}
	if strings.Contains(dlv.play(t), "C.outer") {
		t.Fatal("this proves nothing: dlv has the frame")
	}
	s := session{tool: "clew", args: []string{"exec"}, target: []string{exe}, script: []string{"continue", "stack", "stack -full"}}
	stack := framesOf(t, s.play(t))[0]
	i := slices.IndexFunc(stack, func(f frame) bool { return strings.HasSuffix(f.name, "outer") && !strings.Contains(f.name, "_Cfunc_") })
	call := slices.IndexFunc(stack, func(f frame) bool { return f.name == "main.call" })
	if i < 2 || call < i {
		t.Fatalf("%+v", stack)
	}
	s.script = []string{"continue"}
	frames := []string{"print doubled", "print n", "args", "locals", "set doubled = 7", "print doubled", "list", "disassemble", "print nothing", "list +1"}
	for _, command := range frames {
		s.script = append(s.script, fmt.Sprintf("frame %d %s", i, command))
	}
	s.script = append(s.script, fmt.Sprintf("frame %d print local", call), fmt.Sprintf("frame %d locals", i-1), fmt.Sprintf("frame %d regs", i-1), "clearall", "continue")
	out := s.play(t)
	for _, want := range []string{
		"\n30\n15\nn = 15\n", "doubled = 30\n", "\n7\n", // what main.call and outer have computed
		"int result = through(leaf, doubled + 100);",
		"there is no DWARF for its code",
		"there is no variable nothing here",
		"checksum ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	// Libraries are loaded at another page each time.
	if rip := regexp.MustCompile(`Rip = 0x[0-9a-f]{13}([0-9a-f]{3})`).FindStringSubmatch(out); rip == nil || rip[1] != fmt.Sprintf("%03x", stack[i-1].pc&0xfff) {
		t.Errorf("registers %q, of the frame at %#x", rip, stack[i-1].pc)
	}
	if t.Failed() {
		t.Log(out)
	}
}
