package cause

import (
	"context"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// Death is what ended a program: the thread that died, its stack, and why.
type Death struct {
	Thread reading.Thread
	Stack  unwind.Stack
	Crash  *stackjson.Crash
	// Fault is the signal, nil where none has ended the program.
	Fault *Fault
}

// view is what a stop knows of a program's address space.
type view interface {
	Maps() []imagemap.Mapping
	Code() *codemap.Map
}

// OfCore finds what ended the process of a core file; nil if nothing did: a debugger has written it, and the process went on.
func OfCore(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared, died corefile.Died) (*Death, error) {
	fault := &Fault{Signal: syscall.Signal(died.Signal), Code: codeKernel}
	if !endsProgram[fault.Signal] {
		return nil, nil
	}
	if len(died.Info) >= InfoSize && at.Arch().PointerSize() == 8 {
		if f := ParseInfo(died.Info, died.Order); f.Signal == fault.Signal {
			fault = f
		}
	}
	th, err := at.Thread(died.Thread)
	if err != nil {
		return nil, err
	}
	return of(ctx, at, prepared, th, fault, died.Pid), nil
}

// OfThread finds out whether a thread stands where Go's runtime ends the program, and why; nil if it does not. pid is the
// program's ID, 0 if it is not known.
func OfThread(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared, th reading.Thread, pid int) *Death {
	if th.ID == 0 {
		return nil
	}
	d := of(ctx, at, prepared, th, nil, pid)
	for i := range d.Stack.Frames {
		if d.Crash != nil && ends[d.Stack.Frames[i].Function] {
			return d
		}
	}
	return nil
}

// ends are the functions in which Go's runtime ends a program.
var ends = map[string]bool{"runtime.fatalpanic": true, "runtime.fatalthrow": true, "runtime.fatalsignal": true, "runtime.fatal": true, "runtime.throw": true, "runtime.sighandler": true, "runtime.dopanic_m": true}

// writes is where a thread of Go's runtime waits for a write to end, by the way to it.
const writes = "runtime.write1"

// OfWriter finds the thread that is writing Go's crash text; nil if no thread is.
func OfWriter(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared, pid int) (*Death, error) {
	threads, err := at.Threads()
	if err != nil {
		return nil, err
	}
	for _, th := range threads {
		pc, ok := th.Registers.PC(at.Arch())
		if f := at.Frame(unwind.Code(pc, unwind.KindInstruction)); !ok || !strings.HasPrefix(f.Function, writes) {
			continue
		}
		if d := OfThread(ctx, at, prepared, th, pid); d != nil {
			return d, nil
		}
	}
	return nil, nil
}

// of describes a thread's death, as far as its stack says that it died.
func of(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared, th reading.Thread, kernel *Fault, pid int) *Death {
	out := &Death{Thread: th}
	for s := range at.Each(ctx, prepared, []reading.Thread{th}, stop.AllOptions{Depth: maxFrames, AllRegisters: true}) {
		out.Stack = s
	}
	target := &at.EngineInput().Target
	d := readDeath(target, out.Stack.Frames, kernel)
	r := &reader{target: target, memory: target.Memory}
	var maps []imagemap.Mapping
	if v, ok := at.View.(view); ok {
		r.code, maps = v.Code(), v.Maps()
	}
	var dying *goruntime.Dying
	if r.code != nil {
		r.memory = r.code.Fixed(target.Memory)
		if d.panicked || d.byPanic || d.fatal {
			dying = readDying(r.memory, maps, &th)
		}
	}
	if dying != nil && d.byPanic && dying.Signal != 0 {
		d.fault = &Fault{Signal: syscall.Signal(dying.Signal), Code: int64(dying.Code), Address: dying.Address}
		d.fault.access = accessByCode(target, out.Stack.Frames[d.frame:], dying.Address)
	}
	c := &stackjson.Crash{Thread: th.ID, Goroutine: th.Goroutine}
	switch {
	case d.panicked || d.fatal:
		c.Description = "a panic of Go's that no function has recovered"
		if d.fatal {
			c.Description = "an error that Go's runtime does not survive"
		}
		if r.code != nil {
			c.Message = r.goMessage(&d, dying, out.Stack.Frames)
		}
	case d.fault != nil:
		c.Message = r.message(d.fault, out.Stack.Frames)
	default:
		return out
	}
	if d.fault == nil && kernel != nil { // by which the runtime has ended the process
		c.Signal = kernel.Name()
	}
	if f := d.fault; f != nil {
		threads, err := at.Threads()
		if err != nil {
			threads = []reading.Thread{th}
		}
		describe(c, f, pid, maps, threads)
	}
	if d.frame >= 0 {
		c.Frame = &d.frame
		c.Registers = stackjson.RegistersByName(at.Arch(), &out.Stack.Frames[d.frame].Registers)
	}
	c.Message = limitText(c.Message)
	out.Crash, out.Fault = c, d.fault
	return out
}

// maxFrames bounds the stack that died: the program may wait meanwhile, and a stack that has overflown is as long as it is uniform.
const maxFrames = 4096

// describe puts a signal into words.
func describe(c *stackjson.Crash, f *Fault, pid int, maps []imagemap.Mapping, threads []reading.Thread) {
	there := "nothing is known of what lies there"
	if maps != nil {
		there = whatLies(f.Address, maps, threads)
	}
	text := f.describe(pid, there)
	if c.Description != "" {
		text = c.Description + ": " + text
	}
	c.Signal, c.Code, c.Description = f.Name(), f.CodeName(), text
	switch {
	case f.hasAddress():
		address := stackjson.Address(f.Address)
		c.Address, c.Access = &address, accessNames[f.access]
	case f.Code > 0 && (f.Signal == syscall.SIGILL || f.Signal == syscall.SIGFPE || f.Signal == syscall.SIGTRAP):
		address := stackjson.Address(f.Address)
		c.Address = &address
	case f.Code == 0 || f.Code == codeSent || f.Code == codeThread:
		c.Sender = uint64(uint32(f.Address))
	}
}

var accessNames = map[string]string{aRead: "read", aWrite: "write", aJump: "execute"}

// readDying reads what the runtime has noted of the thread's goroutine; nil if that is not known.
func readDying(memory unwind.Memory, maps []imagemap.Mapping, th *reading.Thread) *goruntime.Dying {
	if th.Saved == nil || th.Saved.G == 0 {
		return nil
	}
	d, err := goruntime.ReadDying(memory, maps, th.Saved.G)
	if err != nil {
		return nil
	}
	return &d
}
