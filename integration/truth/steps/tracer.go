package steps

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/shadow"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// scenario is one run of the program.
type scenario struct {
	name  string
	start string // the Go function that is stepped through
	// below are the callers of the function that calls start, innermost first: they are what the
	// source says, since nothing was stepped there.
	below []string
}

var scenarios = []scenario{
	{"plain", "main.first", []string{"runtime.main", "runtime.goexit"}},
	{"callback", "main.calling", []string{"runtime.main", "runtime.goexit"}},
	{"nested", "main.calling", []string{"runtime.main", "runtime.goexit"}},
}

// whole steps through everything that main does, the C library's start of
// threads apart: loading a library, resolving its functions, printing.
var whole = scenario{"nested", "main.main", []string{"runtime.goexit"}}

// tracer steps through one program.
type tracer struct {
	scenario scenario
	stem     string // of the program's own records
	session  *delve.Session
	memory   unwind.Memory
	engine   *engine.Engine

	mapsText []byte
	maps     []imagemap.Mapping
	view     *live.View
	prepared *engine.Prepared
	thread   unwind.Thread
	stale    bool // the thread's stacks must be read again
	code     map[uint64]instruction

	shadow calls
	regs   unwind.Registers
	tally  *tally
	every  int // of how many instructions one is compared
	steps  int
	seen   int // instructions of C

	// progress counts instructions, for the watchdog.
	progress atomic.Int64
}

// errStuck says that an instruction did not return: it waits for a thread that
// stands stopped. Another try goes well.
var errStuck = errors.New("an instruction waits for another thread")

// patience is how long one instruction may take, on a loaded machine too.
const patience = 30 * time.Second

// launch starts the program and lets it run to the start of the scenario.
func launch(p program.Program, sc scenario, dir string, strategies ...string) (*tracer, error) {
	t := &tracer{scenario: sc, code: make(map[uint64]instruction), stale: true}
	var err error
	if t.session, t.stem, err = inprocess.Launch(p, sc.name, "break", dir); err != nil {
		return nil, err
	}
	t.memory = t.session.Memory()
	t.engine = engine.New(inprocess.Strategies(strategies...))
	if err := t.runTo(sc.start); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tracer) close() { _ = t.session.Close() }

// runTo runs to a Go function's first instruction and begins the shadow stack.
func (t *tracer) runTo(name string) error {
	view, err := live.NewProcess(t.session).Read(false)
	if err != nil {
		return err
	}
	addrs := view.Code().Find(name)
	if len(addrs) != 1 {
		return fmt.Errorf("%d functions are called %s", len(addrs), name)
	}
	id, err := t.session.BreakAt(addrs[0])
	if err != nil {
		return err
	}
	stop, err := t.session.Continue(context.Background())
	if err != nil || stop.Reason != held.StopBreakpoint {
		return fmt.Errorf("did not stop at %s: %v %w", name, stop, err)
	}
	if err := t.session.ClearBreak(id); err != nil {
		return err
	}
	if err := t.refresh(); err != nil {
		return err
	}
	current, err := t.view.Current()
	if err != nil {
		return err
	}
	t.regs = current.Registers
	if pc, _ := t.regs.PC(unwind.AMD64); pc != addrs[0] {
		return fmt.Errorf("stopped at %#x, not at %s (%#x)", pc, name, addrs[0])
	}
	t.shadow = calls{below: len(t.scenario.below)}
	return t.enter()
}

// refresh reads the process again if its mappings have changed.
func (t *tracer) refresh() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", t.session.Pid()))
	if err != nil {
		return err
	}
	if bytes.Equal(text, t.mapsText) {
		return nil
	}
	t.mapsText = text
	if t.maps, err = imagemap.ParseMaps(bytes.NewReader(text)); err != nil {
		return err
	}
	if t.view, err = live.NewProcess(t.session).Read(false); err != nil {
		return err
	}
	t.view.Input.Names = nil // names are not compared
	// A view keeps the memory that it has read, and is one of a stop.
	t.view.Input.Target.Memory = t.memory
	t.prepared = t.engine.Prepare(context.Background(), &t.view.Input)
	t.stale = true
	t.code = make(map[uint64]instruction)
	return nil
}

// stacks reads the stacks that the thread's frames can lie on.
func (t *tracer) stacks() error {
	threads, err := t.session.Threads(t.maps)
	if err != nil {
		return err
	}
	for _, th := range threads {
		if th.Current {
			t.thread, t.stale = th.Thread, false
			return nil
		}
	}
	return errors.New("no current thread")
}

func (t *tracer) word(addr uint64) (uint64, error) {
	var b [8]byte
	if err := t.memory.ReadMemory(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// run steps until the function that it began in returns.
func (t *tracer) run() error {
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		t.watch(done)
	}()
	err := t.stepAll()
	close(done)
	<-watched
	if t.progress.Load() < 0 {
		return errStuck
	}
	return err
}

// watch kills the program when an instruction does not return.
func (t *tracer) watch(done <-chan struct{}) {
	ticker := time.NewTicker(patience)
	defer ticker.Stop()
	for last := int64(-1); ; {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		if now := t.progress.Load(); now != last {
			last = now
			continue
		}
		t.progress.Store(-1 << 62)
		if p, err := os.FindProcess(t.session.Pid()); err == nil {
			_ = p.Kill()
		}
		return
	}
}

func (t *tracer) stepAll() error {
	for {
		in, err := t.instruction()
		if err != nil {
			return err
		}
		if !in.goCode && t.shadow.settled() {
			if err := t.compare(); err != nil {
				return err
			}
		} else {
			t.stale = true // Go code may give its goroutine another stack
		}
		if t.regs, err = t.session.StepInstruction(); err != nil {
			return err
		}
		t.steps++
		t.progress.Add(1)
		switch {
		case in.kind == shadow.Syscall:
			err = t.refresh()
		case in.kind == shadow.Call:
			err = t.enter()
		case in.kind == shadow.Return:
			err = t.leave()
		}
		if err != nil {
			return err
		}
		if err := t.shadow.resume(t); err != nil {
			return err
		}
		if len(t.shadow.stack) == 0 {
			return nil
		}
	}
}
