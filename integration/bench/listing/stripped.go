package listing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// releases are the last of each Go release whose runtime is known.
const releases = "go1.21.13,go1.22.12,go1.23.12,go1.24.13,go1.25.7,go1.26.8,go1.27.4"

// stripped lists every program stripped and whole.
func stripped(folder string, args []string) error {
	fl := flag.NewFlagSet("stripped", flag.ContinueOnError)
	versions := fl.String("go", releases, "releases of Go")
	only := fl.String("program", "", "these programs alone")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	fmt.Println("| Go | programs | goroutines | stacks equal | frames | as the runtime says |\n|---|---|---|---|---|---|")
	var faults []string
	for release := range strings.SplitSeq(*versions, ",") {
		var sum compared
		programs := 0
		for i := range builds {
			b := &builds[i]
			if *only != "" && !slices.Contains(strings.Split(*only, ","), b.name) {
				continue
			}
			c, err := b.compare(folder, release)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", release, b.name, err)
			}
			programs++
			for _, f := range c.faults {
				faults = append(faults, release+", "+b.name+": "+f)
			}
			sum.add(c)
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %d of %d |\n", strings.TrimPrefix(release, "go"), programs, sum.goroutines, sum.equal, sum.frames, sum.asSaid, sum.said)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d differences:\n%s", len(faults), strings.Join(faults[:min(len(faults), 10)], "\n"))
	}
	return nil
}

// compared counts what was compared.
type compared struct {
	goroutines, equal, frames int
	said, asSaid              int // goroutines that runtime.Stack lists
	faults                    []string
}

func (c *compared) add(o compared) {
	c.goroutines += o.goroutines
	c.equal += o.equal
	c.frames += o.frames
	c.said += o.said
	c.asSaid += o.asSaid
}

// compare lists a program stripped and whole.
func (b *build) compare(folder, release string) (c compared, err error) {
	whole, _, err := b.list(folder, release, false)
	if err != nil {
		return c, err
	}
	bare, own, err := b.list(folder, release, true)
	if err != nil {
		return c, err
	}
	fault := func(id uint64, problem string) bool {
		if problem != "" {
			problem = problem[:min(len(problem), 600)]
			c.faults = append(c.faults, fmt.Sprintf("goroutine %d: %s", id, problem))
		}
		return problem == ""
	}
	for _, id := range slices.Sorted(maps.Keys(whole)) {
		c.goroutines++
		s, w := bare[id], whole[id]
		if fault(id, differs(s, w)) {
			c.equal++
			c.frames += len(s.Frames)
		}
		delete(bare, id)
		if said, ok := own[id]; ok && id != 1 { // the first wrote the report
			c.said++
			if fault(id, contradicts(s, said)) {
				c.asSaid++
			}
		}
	}
	for id := range bare {
		fault(id, "is in the stripped program alone")
	}
	if c.said != len(own)-1 {
		c.faults = append(c.faults, fmt.Sprintf("%d goroutines of the %d that the runtime lists", c.said, len(own)-1))
	}
	return c, nil
}

// list builds and runs a program, and returns its goroutines by clew and by itself.
func (b *build) list(folder, release string, strip bool) (map[uint64]*stackjson.Stack, map[uint64]goroutine, error) {
	path, err := b.make(folder, release, strip)
	if err != nil {
		return nil, nil, err
	}
	cmd, report, err := run(path)
	if err != nil {
		return nil, nil, err
	}
	defer end(cmd)
	for range tries {
		answer, err := ask(cmd.Process.Pid)
		if err != nil {
			return nil, nil, err
		}
		out := make(map[uint64]*stackjson.Stack)
		for i := range answer.Stacks {
			if s := &answer.Stacks[i]; s.Goroutine != 0 {
				out[s.Goroutine] = s
			}
		}
		if first := out[1]; first != nil && first.State != nil && first.State.WaitReason == "sleep" {
			return out, parse(report), nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, nil, fmt.Errorf("the first goroutine of %s does not sleep", path)
}

// tries is how often a program is listed until its first goroutine sleeps: it has just
// written its report.
const tries = 50

// ask lists a process. Nothing may be said beside the answer: clew then has taken a
// debugger.
func ask(pid int) (answer stackjson.Answer, err error) {
	var text, problems bytes.Buffer
	c := exec.Command(clewPath, "stack", "--pid", strconv.Itoa(pid), "--format", "json")
	c.Stdout, c.Stderr = &text, &problems
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) { // a stack is truncated: compared like any other
		return answer, fmt.Errorf("clew stack: %w\n%s", err, problems.String())
	}
	if strings.Contains(problems.String(), "debugger") {
		return answer, errors.New(problems.String())
	}
	return answer, json.Unmarshal(text.Bytes(), &answer)
}

// differs says in what a goroutine of the stripped program differs from that of the whole
// one, "" if in nothing. Without symbols C functions of the program itself have no names;
// their addresses must be equal like all others.
func differs(s, whole *stackjson.Stack) string {
	if s == nil {
		return "is in the whole program alone"
	}
	if s.Stop != whole.Stop || len(s.Frames) != len(whole.Frames) {
		return fmt.Sprintf("%d frames, %s %s; whole %d, %s %s", len(s.Frames), s.Stop, s.Reason, len(whole.Frames), whole.Stop, whole.Reason)
	}
	if a, b := stateOf(s), stateOf(whole); a != b {
		return a + "; whole " + b
	}
	for i := range s.Frames {
		if a, b := frameOf(&s.Frames[i], &whole.Frames[i]), frameOf(&whole.Frames[i], &whole.Frames[i]); a != b {
			return fmt.Sprintf("frame %d: %s; whole %s", i, a, b)
		}
	}
	return ""
}

func stateOf(s *stackjson.Stack) string {
	if s.State == nil {
		return "no state"
	}
	state := *s.State
	if state.LockedThread != 0 {
		state.LockedThread = 1 // another in each run
	}
	state.WaitSince = ""
	state.WaitsOn = min(state.WaitsOn, 1)
	text, _ := json.Marshal(state)
	return string(text)
}

func frameOf(f, whole *stackjson.Frame) string {
	var offset stackjson.Address
	if f.Offset != nil {
		offset = *f.Offset
	}
	text := fmt.Sprintf("%s+%#x %s %s inlined=%v", filepath.Base(f.Image), uint64(offset), f.Kind, f.Trust, f.Inlined)
	text = strings.NewReplacer("stripped", "program", "whole", "program").Replace(text)
	if !goFunction(whole) { // as far as it has a name without symbols
		return text + " " + cmp.Or(f.Function, whole.Function)
	}
	return text + fmt.Sprintf(" %s %s:%d", f.Function, f.File, f.Line)
}
