package delve

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/unwind"
)

// Delve reads a stack word by word from the process, two system calls a frame:
// half of the time of a walk. And it walks anew for every question, because what
// it remembers of a goroutine that a thread runs is never found again (it is
// kept under another key than it is looked for).
//
// Ahead of a question a stack can be walked once, by Delve's own code over memory
// that is read a page at a time, and put where Delve looks first. Its answer is
// the same as without. It stays there for one request only: frames hold
// registers, which a client may change at a stop.
//
// The fields are not exported. Where a release of Delve has others, nothing is
// walked ahead, and Delve does as it always does.
// Test: TestWalkedFields, integration/dap TestStackIsDelves.
type walkedFields struct {
	gVariable, variableMem uintptr // offsets, in proc.G and proc.Variable
	cache                  uintptr // in proc.Target: the map
	cacheType              reflect.Type
	keyGoroutine           uintptr // in the map's key
	keyThread              uintptr
	frames                 uintptr // in what the map's values point to
	high                   uintptr // in proc.Stackframe: the end of its stack
}

var theWalkedFields = sync.OnceValues(findWalkedFields)

func findWalkedFields() (f walkedFields, err error) {
	field := func(in reflect.Type, name string, want reflect.Type) (out reflect.StructField) {
		ok := in.Kind() == reflect.Struct
		if ok {
			out, ok = in.FieldByName(name)
		}
		if (!ok || want != nil && out.Type != want) && err == nil {
			err = fmt.Errorf("this release of Delve has no field %s in %v", name, in)
		}
		if !ok {
			out.Type = reflect.TypeFor[int]() // so that the next one is missing as well
		}
		return out
	}
	f.gVariable = field(reflect.TypeFor[proc.G](), "variable", reflect.TypeFor[*proc.Variable]()).Offset
	f.variableMem = field(reflect.TypeFor[proc.Variable](), "mem", reflect.TypeFor[proc.MemoryReadWriter]()).Offset
	cache := field(reflect.TypeFor[proc.Target](), "scache", nil)
	m := field(cache.Type, "m", nil)
	f.cache, f.cacheType = cache.Offset+m.Offset, m.Type
	if m.Type.Kind() != reflect.Map {
		return f, fmt.Errorf("this release of Delve remembers stacks in another way")
	}
	f.keyGoroutine = field(m.Type.Key(), "goid", reflect.TypeFor[int64]()).Offset
	f.keyThread = field(m.Type.Key(), "threadID", reflect.TypeFor[int]()).Offset
	if m.Type.Elem().Kind() != reflect.Pointer {
		return f, fmt.Errorf("this release of Delve remembers stacks in another way")
	}
	f.frames = field(m.Type.Elem().Elem(), "frames", reflect.TypeFor[[]proc.Stackframe]()).Offset
	f.high = field(reflect.TypeFor[proc.Stackframe](), "stackHi", reflect.TypeFor[uint64]()).Offset
	return f, err
}

// noValue deletes from a map.
var noValue reflect.Value

// framesOf are the frames in a value of the map.
func (f *walkedFields) framesOf(value reflect.Value) *[]proc.Stackframe {
	return (*[]proc.Stackframe)(unsafe.Add(value.UnsafePointer(), f.frames))
}

func (f *walkedFields) stackHigh(frame *proc.Stackframe) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(frame), f.high))
}

// stacks is the map of stacks that a target remembers.
func (f *walkedFields) stacks(t *proc.Target) reflect.Value {
	return reflect.NewAt(f.cacheType, unsafe.Add(unsafe.Pointer(t), f.cache)).Elem()
}

func (f *walkedFields) key(goroutine int64, thread int) reflect.Value {
	key := reflect.New(f.cacheType.Key())
	*(*int64)(unsafe.Add(key.UnsafePointer(), f.keyGoroutine)) = goroutine
	*(*int)(unsafe.Add(key.UnsafePointer(), f.keyThread)) = thread
	return key.Elem()
}

// over gives the goroutine as Delve has it, with other memory over its own.
func (f *walkedFields) over(g *proc.G, memory *ahead) *proc.G {
	outG := *g
	variable := (**proc.Variable)(unsafe.Add(unsafe.Pointer(&outG), f.gVariable))
	if *variable == nil {
		return nil
	}
	outV := **variable
	mem := (*proc.MemoryReadWriter)(unsafe.Add(unsafe.Pointer(&outV), f.variableMem))
	memory.MemoryReadWriter = *mem
	*mem, *variable = memory, &outV
	return &outG
}

// walked are a goroutine's places in what a target remembers.
type walked struct {
	stacks         reflect.Value
	stored, sought reflect.Value // keys: where Delve puts its stack, and where it looks for it
}

func (f *walkedFields) of(t *proc.Target, g *proc.G) walked {
	thread := 0
	if g.Thread != nil {
		thread = g.Thread.ThreadID()
	}
	return walked{f.stacks(t), f.key(g.ID, 0), f.key(g.ID, thread)}
}

func (w *walked) known() bool { return w.stacks.IsNil() || w.stacks.MapIndex(w.sought).IsValid() }

func (w *walked) forget() {
	w.stacks.SetMapIndex(w.stored, noValue)
	w.stacks.SetMapIndex(w.sought, noValue)
}

// frames gives Delve's frames of a goroutine, at most depth of them. Keep leaves
// them where Delve looks for them; the caller has Delve forget them.
func (s *Session) frames(t *proc.Target, g *proc.G, depth int, keep bool) ([]proc.Stackframe, error) {
	fields, err := theWalkedFields()
	if err != nil {
		return proc.GoroutineStacktrace(t, g, depth-1, 0)
	}
	w := fields.of(t, g)
	if w.known() {
		s.ahead.begin() // the walk may go on
		defer s.ahead.end()
		return proc.GoroutineStacktrace(t, g, depth-1, 0)
	}
	memory := &ahead{}
	copied := fields.over(g, memory)
	if copied == nil {
		return proc.GoroutineStacktrace(t, g, depth-1, 0)
	}
	memory.begin()
	defer memory.end()
	frames, err := proc.GoroutineStacktrace(t, copied, depth-1, 0)
	entry := w.stacks.MapIndex(w.stored)
	// Where a walk has failed, Delve adds the failure again each time it looks.
	if keep && err == nil && len(frames) > 0 && frames[len(frames)-1].Err == nil && entry.IsValid() {
		w.stacks.SetMapIndex(w.sought, entry)
		s.ahead = memory
	} else {
		w.forget()
	}
	return frames, err
}

// WalkAhead walks the stack of the goroutine that Delve knows by that ID, to so
// many frames, for whoever asks Delve until release is called; the target must
// not run before. It does nothing where that cannot be had.
func (s *Session) WalkAhead(goroutine int64, depth int) (release func()) {
	release = func() {}
	fields, err := theWalkedFields()
	if err != nil || depth < 1 {
		return release
	}
	defer func() { _ = recover() }() // Delve's code does not survive corrupt tables; it will say so when it is asked
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, _ := t.Valid(); !valid {
		return release
	}
	g, err := proc.FindGoroutine(t, goroutine)
	if err != nil || g == nil {
		return release
	}
	w := fields.of(t, g)
	if w.known() {
		return release // it remembers by itself
	}
	if _, err := s.frames(t, g, depth, true); err != nil {
		return release
	}
	return func() {
		_, unlock := s.dbg.LockTargetGroup()
		defer unlock()
		s.ahead = nil
		w.forget()
	}
}

// ahead is memory that is remembered while a stack is walked, and not
// afterwards.
type ahead struct {
	proc.MemoryReadWriter
	held *blocks.Blocks
}

func (a *ahead) begin() {
	if a != nil {
		a.held = blocks.Over(plain{a.MemoryReadWriter})
	}
}

func (a *ahead) end() {
	if a != nil {
		a.held = nil
	}
}

// ReadMemory implements [proc.MemoryReader].
func (a *ahead) ReadMemory(p []byte, addr uint64) (int, error) {
	if a.held == nil {
		return a.MemoryReadWriter.ReadMemory(p, addr)
	}
	if err := a.held.ReadMemory(addr, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// plain is memory as Delve gives it, for clew: breakpoints are in it.
type plain struct{ memory proc.MemoryReader }

// ReadMemory implements [unwind.Memory].
func (m plain) ReadMemory(addr uint64, p []byte) error {
	n, err := m.memory.ReadMemory(p, addr)
	if err == nil && n != len(p) {
		err = errShort // on Linux a read may be short without an error
	}
	if err != nil {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
	}
	return nil
}
