//go:build linux && (amd64 || arm64)

package sampled

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// program is the Go program that runs the workloads.
type program struct {
	path string
	run  uint64       // its function main.run
	back uint64       // its function goBack, which C calls
	code unwind.Range // of Go
	// schedule is Go's scheduler, which has left the goroutine.
	schedule unwind.Range
}

func openProgram(path string) (program, error) {
	p := program{path: path}
	f, err := elf.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	for _, s := range symbols {
		switch s.Name {
		case "main.run":
			p.run = s.Value
		case "goBack":
			p.back = s.Value
		case "runtime.schedule":
			p.schedule = unwind.Range{Start: s.Value, End: s.Value + s.Size}
		case "runtime.text":
			p.code.Start = s.Value
		case "runtime.etext":
			p.code.End = s.Value
		}
	}
	if err == nil && (p.run == 0 || p.back == 0 || p.code.End == 0) {
		err = fmt.Errorf("%s: no main.run, goBack or Go code", path)
	}
	return p, err
}

// options of sampling.
type options struct {
	every int // of how many instructions of C one is taken, on average
	most  int // samples of a workload
	seed  uint64
	live  int  // of how many samples one is assembled in the live process too
	jumps bool // the workload leaves functions by longjmp
	often int  // so many calls of a function are stepped through, and fewer and fewer of the others
	asm   bool // samples are taken of Go, too
}

// sampler steps through one workload.
type sampler struct {
	*process
	program program
	options
	random  *rand.Rand
	kinds   map[uint64]shadow.Kind
	entered map[uint64]int // how often functions of C were called
	live    *live.Process
	engine  *engine.Engine
	out     io.Writer
	// steps are instructions, places the distinct ones of C; lost are samples with a return
	// address that is not what was pushed, and in Go's scheduler.
	steps, samples, lost int
	places               map[uint64]bool
	answers              map[int]unwind.Stack // of the live process, by sample
}

// sample runs a workload in a library, and writes its samples.
func sample(p program, driver, libraries string, o options, out io.Writer) (*sampler, error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	var process *process
	err := errPreempted
	for try := 0; try < 10 && errors.Is(err, errPreempted); try++ {
		cmd := exec.Command(p.path, driver)
		cmd.Env = []string{"PATH=/bin", "HOME=/", "GODEBUG=asyncpreemptoff=1", "GOGC=off", "LD_LIBRARY_PATH=" + libraries}
		if arch == unwind.ARM64 { // no thread that is stopped holds what this one needs
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		}
		process, err = start(cmd, p.run)
	}
	if err != nil {
		return nil, err
	}
	defer process.step.Close()
	defer func() { process.others.thaw() }()
	s := &sampler{
		process: process, program: p, options: o, random: rand.New(rand.NewPCG(o.seed, 0)), kinds: make(map[uint64]shadow.Kind),
		live: live.New(process, live.Here(process)), engine: engine.New(inprocess.Strategies()), out: out,
		entered: make(map[uint64]int), places: make(map[uint64]bool), answers: make(map[int]unwind.Stack),
	}
	return s, s.run()
}

// run steps until the function that it began in returns.
func (s *sampler) run() error {
	for wait := s.interval(); len(s.calls) > 0 && s.samples < s.most; s.steps++ {
		pc := s.regs[regPC]
		kind, known := s.kinds[pc]
		if !known {
			var code [longestCall]byte
			kind = kindOf(code[:s.step.Read(pc, code[:])])
			s.kinds[pc] = kind
		}
		if s.asm || !s.inGo(pc) {
			s.places[pc] = true
			if wait--; wait <= 0 {
				if err := s.take(); err != nil {
					return fmt.Errorf("at %#x: %w", pc, err)
				}
				wait = s.interval()
			}
		}
		if err := s.pass(pc, kind); err != nil {
			return fmt.Errorf("after %d instructions: %w", s.steps, err)
		}
	}
	if result := s.regs[regResult]; len(s.calls) == 0 && result != 0 {
		return fmt.Errorf("the workload failed: %d", result)
	}
	return nil
}

// scheduling says whether Go's scheduler has left the goroutine, whose stack it no longer is.
func (s *sampler) scheduling() bool {
	return slices.ContainsFunc(s.calls, func(a shadow.Activation) bool {
		return a.RA >= s.program.schedule.Start && a.RA < s.program.schedule.End
	})
}

func (s *sampler) inGo(pc uint64) bool { return pc >= s.program.code.Start && pc < s.program.code.End }

// pass executes the instruction at pc, and the whole function that it calls if that was stepped
// through often enough.
func (s *sampler) pass(pc uint64, kind shadow.Kind) error {
	depth := len(s.calls)
	if err := s.advance(kind); err != nil || kind != shadow.Call || s.inGo(pc) || len(s.calls) <= depth {
		return err
	}
	to := s.regs[regPC]
	s.entered[to]++
	// Whether a function that is left in another way than by a return comes back is not known
	// before, but for those that call Go.
	if n := s.entered[to]; s.inGo(to) || s.options.jumps && to != s.program.back || s.random.IntN(1+n/s.often) == 0 {
		return nil
	}
	return s.finish()
}

// interval is the number of instructions to the next sample.
func (s *sampler) interval() int { return 1 + s.random.IntN(2*s.every) }

// take writes a sample.
func (s *sampler) take() error {
	if !s.intact() || s.scheduling() {
		s.lost++
		return nil
	}
	view, err := s.live.Read(true)
	if err != nil {
		return err
	}
	th := s.now()
	if s.samples%s.options.live == 0 {
		ctx := context.Background()
		view.Input.Names = nil
		s.answers[s.samples] = s.engine.Prepare(ctx, &view.Input).Stack(ctx, &th, assembler.Options{})
	}
	taken, err := view.Snapshot([]unwind.Thread{th}, nil)
	if err != nil {
		return err
	}
	if taken.Expect, err = s.truth(); err != nil {
		return err
	}
	taken.Memory = append(taken.Memory, s.used()...)
	s.samples++
	return snapshot.Write(s.out, taken)
}
