package breakpoints

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/unwind"
)

type codeRange = unwind.Range

// Set has the breakpoints of one debugger whose places clew finds. Its methods are called with the lock that Delve holds while the
// program runs; [Set.Tell] and [Set.Read] apart, which may be called at any time.
type Set struct {
	mu   sync.Mutex
	read func(*proc.Target) (*codemap.Map, error)
	tell map[int]func(Change)
	next int

	all  map[int]*breakpoint // by the number of the logical breakpoint
	pid  int                 // of the process that they were placed in last
	text []byte              // its mappings then
	code *codemap.Map        // what it had loaded
	hook map[uint64]*proc.Breaklet

	guests map[guest]bool

	tables tables
	failed map[int]error // by thread: why its breakpoint's condition could not be evaluated at this stop
}

// Change tells that a breakpoint was placed that was pending, or is pending again, or that it has logged a message.
type Change struct {
	ID       int
	Name     string
	File     string
	Line     int
	Function string
	Verified bool
	Message  string // what it waits for, if it is not verified; or what is logged
	// Logged says that the message was logged, by a goroutine if that is not 0, and that nothing has changed.
	Logged    bool
	Goroutine int64
}

// breakpoint is one of a set's.
type breakpoint struct {
	logical *proc.LogicalBreakpoint
	where   Where
	last    []native.Place // where it was placed last; none while it is pending
	lack    error          // why it is pending although its code is loaded
	// placed is what was told of it.
	placed bool
	// message is logged in place of a stop, nil for none.
	message *message
	prints  Prints
}

// Prints is what a breakpoint has a client print at its stops. Delve, which would read it, does not get it.
type Prints struct {
	Variables         []string
	Arguments, Locals *api.LoadConfig
}

// Take takes that from a breakpoint.
func Take(b *api.Breakpoint) Prints {
	p := Prints{b.Variables, b.LoadArgs, b.LoadLocals}
	b.Variables, b.LoadArgs, b.LoadLocals = nil, nil, nil
	return p
}

// Print sets what a breakpoint of the set's prints.
func (s *Set) Print(id int, p Prints) {
	if b := s.all[id]; b != nil {
		b.prints = p
	}
}

// Show completes breakpoints of the set's for a client: what they print, and their conditions.
func (s *Set) Show(all ...*api.Breakpoint) {
	for _, b := range all {
		b.Cond = Shown(b.Cond)
		if of := s.all[b.ID]; of != nil {
			if len(b.Addrs) == 0 && !b.Disabled { // a guest
				for _, p := range of.last {
					b.Addrs, b.AddrPid, b.Addr = append(b.Addrs, p.Addr), append(b.AddrPid, s.pid), of.last[0].Addr
				}
			}
			b.Variables, b.LoadArgs, b.LoadLocals = of.prints.Variables, of.prints.Arguments, of.prints.Locals
		}
	}
}

// Read sets the function that reads what a process has loaded. It must not need Delve's lock.
func (s *Set) Read(read func(*proc.Target) (*codemap.Map, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = read
}

// Tell has a function called with every change, which must not wait, until end is called.
func (s *Set) Tell(f func(Change)) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tell == nil {
		s.tell = make(map[int]func(Change))
	}
	s.next++
	n := s.next
	s.tell[n] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tell, n)
	}
}

// Code reads what a process has loaded, as far as it has changed. It is nil where that cannot be read.
func (s *Set) Code(t *proc.Target) *codemap.Map {
	text, err := procfs.ReadMaps(t.Pid())
	if err != nil {
		return nil
	}
	if s.code != nil && s.pid == t.Pid() && bytes.Equal(text, s.text) {
		return s.code
	}
	s.mu.Lock()
	read := s.read
	s.mu.Unlock()
	if read == nil {
		return nil
	}
	code, err := read(t)
	if err != nil {
		return nil // it is tried again when the program is next resumed
	}
	if s.pid != t.Pid() {
		s.hook = nil
		for _, b := range s.all {
			b.last = nil
		}
	}
	s.pid, s.text, s.code = t.Pid(), text, code
	return code
}

// Adopt makes a breakpoint of Delve's one whose places clew finds, from now on.
func (s *Set) Adopt(t *proc.Target, logical *proc.LogicalBreakpoint, where Where) {
	b := &breakpoint{logical: logical, where: where}
	logical.Set = proc.SetBreakpoint{Expr: func(t *proc.Target) []uint64 { return s.enable(t, b) }, ExprString: where.String()}
	if s.all == nil {
		s.all = make(map[int]*breakpoint)
	}
	s.all[logical.LogicalID] = b
	if m := s.Code(t); m != nil {
		s.watch(t, m)
		b.last, b.lack = b.where.All(m, t)
		b.placed = len(b.last) > 0
		b.place(t, nil)
		s.host(t)
	}
}

// enable is asked by Delve where a breakpoint is, before it enables it.
func (s *Set) enable(t *proc.Target, b *breakpoint) (addrs []uint64) {
	m := s.Code(t)
	if m == nil {
		return nil
	}
	s.watch(t, m)
	s.resolve(t, m, b)
	for _, p := range b.last {
		addrs = append(addrs, p.Addr)
	}
	return addrs
}

// Refresh places what can be placed now, and takes away what is gone. It costs nothing where there are no breakpoints, and a look at the
// mappings where they are as they were.
func (s *Set) Refresh(t *proc.Target) {
	maps.DeleteFunc(s.all, func(id int, b *breakpoint) bool { return t.Breakpoints().Logical[id] != b.logical })
	if len(s.all) == 0 {
		s.unwatch(t)
		return
	}
	s.place(t)
}

// place is Refresh where there are breakpoints.
func (s *Set) place(t *proc.Target) {
	before := s.code
	m := s.Code(t)
	if m == nil {
		return
	}
	s.watch(t, m)
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		b := s.all[id]
		if m != before {
			b.place(t, s.resolve(t, m, b))
		}
		b.describe(t)
	}
	s.host(t)
}

// Has says that a logical breakpoint is one of the set's.
func (s *Set) Has(id int) bool { return s.all[id] != nil }

// State says how one of the set's breakpoints is, as a change to that; nil for others.
func (s *Set) State(id int) *Change {
	b := s.all[id]
	if b == nil {
		return nil
	}
	c := s.change(b)
	return &c
}

// Pending says that a logical breakpoint is not placed, and why, where its code is loaded.
func (s *Set) Pending(id int) (lack error, pending bool) {
	if b := s.all[id]; b != nil && len(b.last) == 0 {
		return b.lack, true
	}
	return nil, false
}

// resolve finds out where a breakpoint is now, and tells of a change. It returns where it was.
func (s *Set) resolve(t *proc.Target, m *codemap.Map, b *breakpoint) (before []native.Place) {
	before = b.last
	lack := b.lack
	b.last, b.lack = b.where.All(m, t)
	if now := len(b.last) > 0; now != b.placed || !now && lack == nil && b.lack != nil {
		b.placed = now
		b.name()
		s.told(b)
	}
	return before
}

func (s *Set) told(b *breakpoint) { s.send(s.change(b)) }

func (s *Set) change(b *breakpoint) Change {
	l := b.logical
	c := Change{ID: l.LogicalID, Name: l.Name, File: l.File, Line: l.Line, Function: l.FunctionName, Verified: len(b.last) > 0}
	if !c.Verified {
		c.Message = b.where.waits(b.lack)
	}
	return c
}

func (s *Set) send(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.tell {
		f(c)
	}
}

// loaderHook is the function that the dynamic loader calls after every change of its list of libraries, for debuggers.
const loaderHook = "_dl_debug_state"

// CanLoad says that a program has a dynamic loader.
func CanLoad(m *codemap.Map) bool { return len(m.Find(loaderHook)) > 0 }

// watch sets breakpoints where the loader has changed its list.
func (s *Set) watch(t *proc.Target, m *codemap.Map) {
	for _, addr := range m.Find(loaderHook) {
		if bp := t.Breakpoints().M[addr]; bp != nil && slices.Contains(bp.Breaklets, s.hook[addr]) {
			continue
		}
		bp, err := t.SetBreakpoint(0, addr, proc.PluginOpenBreakpoint, nil)
		if err != nil {
			continue
		}
		last := len(bp.Breaklets) - 1
		part := bp.Breaklets[last]
		bp.Breaklets = slices.Insert(bp.Breaklets[:last], 0, part) // the answer of the part that is asked last counts
		part.SetCallback(func(_ proc.Thread, t *proc.Target) (bool, error) {
			s.place(t)
			return false, nil
		})
		if s.hook == nil {
			s.hook = make(map[uint64]*proc.Breaklet)
		}
		s.hook[addr] = part
	}
}

// unwatch takes them away.
func (s *Set) unwatch(t *proc.Target) {
	for addr, part := range s.hook {
		bp := t.Breakpoints().M[addr]
		if bp == nil || !slices.Contains(bp.Breaklets, part) {
			continue
		}
		bp.Breaklets = slices.DeleteFunc(bp.Breaklets, func(other *proc.Breaklet) bool { return other == part })
		if len(bp.Breaklets) == 0 {
			clearUser(t, bp)
		}
	}
	s.hook, s.code, s.text = nil, nil, nil
}
