package internals

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
)

// Names of the entries about the stacks that Delve remembers.
const (
	EntryStackMemory = "stack-memory"
	EntryStackCache  = "stack-cache"
	EntryStackHigh   = "stack-high"
)

var stackEntries = []Entry{
	{
		Name: EntryStackMemory, Where: "pkg/proc/variables.go, G.variable and Variable.mem",
		Breaks: "Delve's stacks are read a word at a time: answers take twice as long",
		Proof:  "Check", check: func() error { return firstError(goroutineVariable.check, variableMemory.check) },
	},
	{
		Name: EntryStackCache, Where: "pkg/proc/target.go, Target.scache; pkg/proc/stack.go, stackCache.m, stackCacheKey, cachedStack.frames",
		Breaks: "no variables in frames that only clew has; a stack is walked again for every question",
		Proof:  "Check: the fields; that Delve looks there, Session.InsertFrame, before each frame is used", check: func() error { return cacheErr },
	},
	{
		Name: EntryStackHigh, Where: "pkg/proc/stack.go, Stackframe.stackHi",
		Breaks: "no variables in frames that only clew has: Delve checks their addresses against another stack",
		Proof:  "Check", check: stackHigh.check,
	},
}

var (
	goroutineVariable = fieldOf[proc.G, *proc.Variable]("variable")
	variableMemory    = fieldOf[proc.Variable, proc.MemoryReadWriter]("mem")
	stackHigh         = fieldOf[proc.Stackframe, uint64]("stackHi")
	cache, cacheErr   = findCache()
)

// cacheLayout says where a target keeps the stacks that it remembers. Their types
// are private.
type cacheLayout struct {
	table        uintptr // in proc.Target: the map
	tableType    reflect.Type
	keyGoroutine uintptr // in the map's key
	keyThread    uintptr
	frames       uintptr // in what the map's values point to
}

func findCache() (c cacheLayout, err error) {
	held, err := lookUp(reflect.TypeFor[proc.Target](), "scache", nil)
	if err != nil {
		return c, err
	}
	table, err := lookUp(held.Type, "m", nil)
	if err != nil {
		return c, err
	}
	if table.Type.Kind() != reflect.Map || table.Type.Elem().Kind() != reflect.Pointer {
		return c, fmt.Errorf("stacks are remembered in a %v", table.Type)
	}
	c.table, c.tableType = held.Offset+table.Offset, table.Type
	for _, f := range []struct {
		in   reflect.Type
		name string
		want reflect.Type
		to   *uintptr
	}{
		{table.Type.Key(), "goid", reflect.TypeFor[int64](), &c.keyGoroutine},
		{table.Type.Key(), "threadID", reflect.TypeFor[int](), &c.keyThread},
		{table.Type.Elem().Elem(), "frames", reflect.TypeFor[[]proc.Stackframe](), &c.frames},
	} {
		found, err := lookUp(f.in, f.name, f.want)
		if err != nil {
			return c, err
		}
		*f.to = found.Offset
	}
	return c, nil
}

// StackHigh returns where a frame holds the end of its goroutine's stack.
func StackHigh(frame *proc.Stackframe) *uint64 { return stackHigh.in(frame) }

// Over returns a copy of a goroutine whose memory wrap has wrapped, nil where the
// goroutine has no memory.
func Over(g *proc.G, wrap func(proc.MemoryReadWriter) proc.MemoryReadWriter) *proc.G {
	if Check() != nil || *goroutineVariable.in(g) == nil {
		return nil
	}
	outG, outV := *g, **goroutineVariable.in(g)
	memory := variableMemory.in(&outV)
	*memory = wrap(*memory)
	*goroutineVariable.in(&outG) = &outV
	return &outG
}

// Stacks are the stacks that a target remembers until it runs.
type Stacks struct{ table reflect.Value }

// StacksOf returns the stacks that a target remembers.
func StacksOf(t *proc.Target) (Stacks, error) {
	if err := Check(); err != nil {
		return Stacks{}, err
	}
	table := reflect.NewAt(cache.tableType, unsafe.Add(unsafe.Pointer(t), cache.table)).Elem()
	if table.IsNil() {
		return Stacks{}, Changed(EntryStackCache, "the table was not made")
	}
	return Stacks{table}, nil
}

// Stack is one remembered stack; the zero value stands for none.
type Stack struct{ value reflect.Value }

// Known says whether there is one.
func (s Stack) Known() bool { return s.value.IsValid() }

// SetFrames replaces its frames.
func (s Stack) SetFrames(frames []proc.Stackframe) {
	*(*[]proc.Stackframe)(unsafe.Add(s.value.UnsafePointer(), cache.frames)) = frames
}

// Key names a remembered stack.
type Key struct{ value reflect.Value }

// KeyOf returns the key of a goroutine and a thread.
func KeyOf(goroutine int64, thread int) Key {
	key := reflect.New(cache.tableType.Key())
	*(*int64)(unsafe.Add(key.UnsafePointer(), cache.keyGoroutine)) = goroutine
	*(*int)(unsafe.Add(key.UnsafePointer(), cache.keyThread)) = thread
	return Key{key.Elem()}
}

// Get returns the stack with a key.
func (s Stacks) Get(k Key) Stack { return Stack{s.table.MapIndex(k.value)} }

// Set makes a stack the one with a key; the zero Stack deletes it.
func (s Stacks) Set(k Key, stack Stack) { s.table.SetMapIndex(k.value, stack.value) }
