//go:build linux && (amd64 || arm64)

package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/stand"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// truncatedCode is the exit code of clew stack for a truncated stack.
const truncatedCode = 3

// patience is far above what anything here takes, on a loaded machine too.
const patience = 2 * time.Minute

// cell is the result of one debugger, build and scenario.
type cell struct {
	Build    string `json:"build"`
	Scenario string `json:"scenario"`
	Debugger string `json:"debugger"`
	// Described: the native code has tables or frame pointers.
	Described bool `json:"described"`
	Stops     int  `json:"stops"`
	program.Score
	// Forgiven is the kind without the frames 0x0 above runtime.asmcgocall: Delve's
	// only mistake in many cells.
	Forgiven program.Kind `json:"forgiven,omitempty"`
}

// debugger shows the stack of one thread of a process that stands still.
type debugger struct {
	name   string
	stack  func(s *stand.Stand) (stackjson.Stack, error)
	strict program.Strictness
}

// bench is what measuring needs.
type bench struct {
	folder    string
	clew, dlv string // the executables
}

// newBench builds the debuggers, unless they are built.
func newBench(folder string, o *options) (*bench, error) {
	b := &bench{folder: folder, clew: filepath.Join(folder, "clew"), dlv: filepath.Join(folder, "dlv")}
	if o.built != "" {
		return b, nil
	}
	for path, pkg := range map[string]string{b.clew: "cmd/clew", b.dlv: "integration/internal/dlv"} {
		if o.arm64 != "" && path == b.dlv {
			continue // -built measures clew alone
		}
		cmd := exec.Command("go", "build", "-o", path, "github.com/clewdbg/clew/"+pkg)
		if o.arm64 != "" {
			cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return b, nil
}

// debuggerNames are the lines of a build, in their order.
var debuggerNames = []string{"dlv", "clew"}

func (b *bench) debuggers(o *options) []debugger {
	clew := debugger{name: debuggerNames[1], stack: b.clewStack, strict: program.Strictness{CFA: true, Kind: true}}
	if o.here {
		clew.stack = stackHere
	}
	if o.built != "" || o.cores || o.here {
		return []debugger{clew}
	}
	return []debugger{{name: debuggerNames[0], stack: b.delveStack}, clew}
}

// measure has the debugger show every stop of a cell.
func (b *bench) measure(r *row, p program.Program, c *column, d *debugger) (cell, error) {
	result := cell{Build: r.Name, Scenario: c.Title, Debugger: d.name, Described: !r.Undescribed, Stops: len(c.Places)}
	var forgiven program.Score
	strict := d.strict
	strict.MayLack = strict.CFA && r.Tableless() && runtime.GOARCH == "arm64"
	if r.Compiler == "clang" && runtime.GOARCH == "arm64" {
		strict.CFA = false // clang's __builtin_dwarf_cfa is x29 there, wherever that points to
	}
	stop := b.stop
	if c.Core {
		stop, result.Stops = b.core, 1
	}
	for _, place := range c.places() {
		stack, want, err := stop(p, c, place, d)
		if err != nil {
			return result, fmt.Errorf("%s, %s, %s: %w", r.Name, c.Title, d.name, err)
		}
		score := program.Judge(&stack, want, strict)
		for i := range score.Reasons {
			score.Reasons[i] = fmt.Sprintf("%s+%d: %s", place.Name, place.Steps, score.Reasons[i])
		}
		result.Add(score)
		forgive(&stack)
		forgiven.Add(program.Judge(&stack, want, strict))
	}
	if forgiven.Kind != result.Kind {
		result.Forgiven = forgiven.Kind
	}
	return result, nil
}

// forgive takes the frames 0x0 out that runtime.asmcgocall seems to be called
// from.
func forgive(s *stackjson.Stack) {
	var frames []stackjson.Frame
	for i, f := range s.Frames {
		if f.PC != 0 || i == 0 || s.Frames[i-1].Function != "runtime.asmcgocall" {
			frames = append(frames, f)
		}
	}
	s.Frames = frames
}

// stop holds the program once, and returns the stack that the debugger shows,
// with the truth.
func (b *bench) stop(p program.Program, c *column, place stand.Place, d *debugger) (stack stackjson.Stack, want []program.Expected, err error) {
	dir, err := os.MkdirTemp(b.folder, "stop-")
	if err != nil {
		return stack, nil, err
	}
	defer os.RemoveAll(dir)
	stem := filepath.Join(dir, "record")
	config := stand.Config{Args: []string{p.Path, c.Name, c.Stop, stem}, Env: p.Env(), Where: stem + ".where", Place: place, Patience: patience}
	if place.Name != "" {
		config.Args = append(config.Args, "ready")
	}
	s, err := stand.Hold(config)
	if err != nil {
		return stack, nil, err
	}
	defer s.Close()
	record, err := program.ReadRecord(stem, s.Thread)
	if err != nil {
		return stack, nil, err
	}
	stack, err = d.stack(s)
	return stack, c.truth(record, s.PC), err
}

// clewStack is the output of the command clew stack.
func (b *bench) clewStack(s *stand.Stand) (stack stackjson.Stack, err error) {
	return b.clewSays("--pid", strconv.Itoa(s.PID), "--thread", strconv.FormatUint(s.Thread, 10))
}

func (b *bench) clewSays(args ...string) (stack stackjson.Stack, err error) {
	cmd := exec.Command(b.clew, slices.Concat([]string{"stack", "--format", "json"}, args)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == truncatedCode { // a truncated stack
		err = nil
	}
	if err != nil {
		return stack, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return parse(stdout.Bytes())
}

// parse returns the one stack of an answer.
func parse(text []byte) (stack stackjson.Stack, err error) {
	var answer stackjson.Answer
	if err := json.Unmarshal(text, &answer); err != nil {
		return stack, fmt.Errorf("clew stack: %w", err)
	}
	if len(answer.Stacks) != 1 {
		return stack, fmt.Errorf("clew stack: %d stacks: %s", len(answer.Stacks), answer.Error)
	}
	return answer.Stacks[0], nil
}
