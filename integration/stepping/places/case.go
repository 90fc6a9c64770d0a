package places

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The two steps, as the debug adapter protocol names them.
const (
	next    = "next"
	stepOut = "stepOut"
)

var commands = []string{stepOut, next}

// scene is a place to step from.
type scene struct {
	name     string
	scenario string
	// function is the one that is stepped out of. The stop is at spot in it, or at
	// its first instruction where spot is empty.
	function string
	spot     string
	// The places in runtime.asmcgocall have no spot.
	atCall, behindCall bool
}

var scenes = []scene{
	{name: "leaf, first instruction", scenario: "plain", function: "leaf"},
	{name: "leaf", scenario: "plain", function: "leaf", spot: "leaf"},
	{name: "middle, before its call", scenario: "plain", function: "middle", spot: "middle"},
	{name: "middle, after its call", scenario: "plain", function: "middle", spot: "middle, later"},
	{name: "outer", scenario: "plain", function: "outer", spot: "outer"},
	{name: "recursion, outermost", scenario: "again", function: "again", spot: "again"},
	{name: "shared with other threads", scenario: "crowd", function: "door", spot: "door"},
	{name: "before a callback of Go", scenario: "calling", function: "calling", spot: "calling"},
	{name: "asmcgocall, at its call", scenario: "plain", function: switchFunction, atCall: true},
	{name: "asmcgocall, after its call", scenario: "plain", function: switchFunction, behindCall: true},
	{name: "asmcgocall, the stack moves", scenario: "calling", function: switchFunction, atCall: true},
	{name: "leaf in a thread of C's", scenario: "thread", function: "leaf", spot: "leaf"},
	{name: "middle in a thread of C's", scenario: "thread", function: "middle", spot: "middle"},
	{name: "that thread's first function", scenario: "thread", function: "thread_main", spot: "thread"},
	{name: "Go, first instruction", scenario: "plain", function: "main.second"},
}

const (
	switchFunction = "runtime.asmcgocall.abi0"
	callFunction   = "runtime.cgocall"
)

// verdict is the result of one step.
type verdict int

const (
	right   verdict = iota
	no              // refused
	wrong           // stopped elsewhere, or not at all
	damaged         // the step has changed the program
	verdicts
)

var verdictNames = [verdicts]string{"right", "refused", "wrong", "damaged"}

func (v verdict) String() string { return verdictNames[v] }

// result is one step's.
type result struct {
	verdict verdict
	detail  string
}

// truth is where a function returns to.
type truth struct {
	pc, sp uint64
	high   uint64 // upper end of the goroutine's stack at that time
}

// reached says whether a stop is the return. A goroutine's stack may have moved.
func (t truth) reached(s *state, moves bool) bool {
	if moves {
		return s.pc == t.pc && s.high-s.sp == t.high-t.sp
	}
	return s.pc == t.pc && s.sp == t.sp
}

func (c *scene) inGo() bool { return strings.Contains(c.function, ".") }

// try does one step.
func (c *scene) try(start func(*run) (debugger, error), p *built, command string, folder string) (result, error) {
	dir, err := os.MkdirTemp(folder, "run")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	r := &run{program: p, scenario: c.scenario, stdout: filepath.Join(dir, "stdout"), record: filepath.Join(dir, "record")}
	want, err := r.alone()
	if err != nil {
		return result{}, err
	}
	if err := os.Remove(r.record); err != nil {
		return result{}, err
	}
	d, err := start(r)
	if err != nil {
		return result{}, err
	}
	res, final, err := c.play(d, r, command)
	if cerr := d.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return result{}, fmt.Errorf("%s, %s: %w", c.name, command, err)
	}
	got, err := os.ReadFile(r.stdout)
	if err != nil {
		return result{}, err
	}
	if final.status != want.status || !bytes.Equal(got, want.output) {
		res.detail = fmt.Sprintf("exit status %d instead of %d, output %q instead of %q; the step: %s, %s",
			final.status, want.status, got, want.output, res.verdict, res.detail)
		res.verdict = damaged
	}
	return res, nil
}

// ending is how a program ends.
type ending struct {
	status int
	output []byte
}

// alone runs the program without a debugger.
func (r *run) alone() (ending, error) {
	args := r.args()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), r.env())
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ending{}, err
	}
	return ending{cmd.ProcessState.ExitCode(), out}, nil
}

// play stops the program, steps, and lets it run to its end.
func (c *scene) play(d debugger, r *run, command string) (res result, final state, err error) {
	from, want, err := c.stop(d, r)
	if err != nil {
		return res, final, err
	}
	s := from
	res, s, err = c.walk(d, r.program, command, s, want)
	if err != nil {
		return res, s, err
	}
	if !s.exited {
		if err := d.breakAt(); err != nil {
			return res, s, err
		}
	}
	for i := 0; !s.exited; i++ {
		if i == 10 {
			return res, s, fmt.Errorf("the program does not end: stopped at %#x (%s)", s.pc, s.why)
		}
		if s, err = d.resume(); err != nil {
			return res, s, err
		}
	}
	return res, s, nil
}

// most is how many lines a next may have to pass until its function is left.
const most = 40

// walk steps until the function is left, and judges.
func (c *scene) walk(d debugger, p *built, command string, from state, want truth) (result, state, error) {
	fn := p.functions[c.function]
	bias, err := p.biasOf(c.function, d.pid())
	if err != nil {
		return result{}, from, err
	}
	if err := d.breakAt(); err != nil {
		return result{}, from, err
	}
	for range most {
		s, err := d.step(command)
		if reason, ok := refused(err); ok {
			return result{no, reason}, from, nil
		}
		switch {
		case err != nil:
			return result{}, s, err
		case s.exited:
			return result{wrong, "ran to the program's end"}, s, nil
		case want.reached(&s, c.inGo()):
			return result{right, ""}, s, nil
		}
		inside := s.thread == from.thread && s.pc >= fn.Value+bias && s.pc < fn.Value+bias+fn.Size
		// Deeper activations and other ones have another stack pointer.
		same := s.sp <= want.sp && want.sp-s.sp < 4096
		if c.inGo() {
			same = true // it may be on another stack: that it ends right is all
		}
		if command != next || !inside || !same {
			return result{wrong, fmt.Sprintf("stopped at %#x, sp %#x (%s), not at %#x, sp %#x", s.pc, s.sp, s.why, want.pc, want.sp)}, s, nil
		}
		from = s
	}
	return result{}, from, fmt.Errorf("the function was not left after %d lines", most)
}

// biasOf is the load bias of a function's address.
func (p *built) biasOf(function string, pid int) (uint64, error) {
	if !p.inLibrary(function) {
		return 0, nil
	}
	return p.bias(pid)
}

// stop brings the program to the scene, and finds out where its function
// returns to.
func (c *scene) stop(d debugger, r *run) (state, truth, error) {
	p := r.program
	fn, ok := p.functions[c.function]
	if !ok {
		return state{}, truth{}, fmt.Errorf("there is no function %s", c.function)
	}
	bias, err := p.biasOf(c.function, d.pid())
	if err != nil {
		return state{}, truth{}, err
	}
	if c.spot != "" {
		at, ok := p.spots[c.spot]
		if !ok {
			return state{}, truth{}, fmt.Errorf("there is no spot %q", c.spot)
		}
		s, err := arrive(d, at+bias)
		if err != nil {
			return s, truth{}, err
		}
		t, err := r.recorded(c.function)
		return s, t, err
	}
	s, t, err := enterFunction(d, p, fn.Value+bias, c.function)
	if err != nil {
		return s, t, err
	}
	switch {
	case c.atCall:
		s, err = arriveIn(d, s.thread, p.atCall...)
	case c.behindCall:
		s, err = arriveIn(d, s.thread, p.behindCall...)
	}
	return s, t, err
}

// arriveIn runs until a thread comes to one of the addresses. Others may come there before: a thread that starts another one
// calls asmcgocall in runtime.newm1.
func arriveIn(d debugger, thread uint64, addrs ...uint64) (s state, err error) {
	for range 50 {
		if s, err = arrive(d, addrs...); err != nil || s.thread == thread {
			return s, err
		}
	}
	return s, fmt.Errorf("thread %d does not come to %#x", thread, addrs)
}

// arrive runs to one of the addresses.
func arrive(d debugger, addrs ...uint64) (state, error) {
	if err := d.breakAt(addrs...); err != nil {
		return state{}, err
	}
	s, err := d.resume()
	if err != nil {
		return s, err
	}
	for _, a := range addrs {
		if !s.exited && s.pc == a {
			return s, nil
		}
	}
	return s, fmt.Errorf("did not come to %#x, but to %+v", addrs, s)
}

// enterFunction runs to the first instruction of a function, where the return
// address is the word at the stack pointer, on arm64 the link register: no unwinding is
// needed to know it.
// The runtime calls asmcgocall for purposes of its own; only the call by cgocall
// counts.
func enterFunction(d debugger, p *built, at uint64, name string) (state, truth, error) {
	caller := p.functions[callFunction]
	for range 50 {
		s, err := arrive(d, at)
		if err != nil {
			return s, truth{}, err
		}
		t := truth{pc: s.lr, sp: s.sp, high: s.high}
		if runtime.GOARCH == "amd64" {
			if t.pc, err = d.word(s.sp); err != nil {
				return s, truth{}, err
			}
			t.sp += 8
		}
		if name != switchFunction || t.pc >= caller.Value && t.pc < caller.Value+caller.Size {
			return s, t, nil
		}
	}
	return state{}, truth{}, fmt.Errorf("%s is never called by %s", name, callFunction)
}

// recorded is the program's record of the function's last start.
func (r *run) recorded(function string) (t truth, err error) {
	data, err := os.ReadFile(r.record)
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(data)) {
		var name string
		var pc, sp uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x 0x%x", &name, &pc, &sp); err != nil {
			return t, fmt.Errorf("record line %q: %w", line, err)
		}
		if name == function {
			t.pc, t.sp = pc, sp
		}
	}
	if t.pc == 0 {
		return t, fmt.Errorf("the program has not recorded %s", function)
	}
	return t, nil
}
