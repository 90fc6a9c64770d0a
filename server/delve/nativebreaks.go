package delve

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-delve/delve/pkg/locspec"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/unwind"
)

// theBreaks are the breakpoints in native code of the debugger that this process has: all of its sessions, and all programs that it starts,
// one after another, have the same.
var theBreaks struct {
	sync.Mutex
	dbg *debugger.Debugger
	set *breakpoints.Set
}

func breaksOf(dbg *debugger.Debugger) *breakpoints.Set {
	theBreaks.Lock()
	defer theBreaks.Unlock()
	if theBreaks.dbg != dbg {
		theBreaks.dbg, theBreaks.set = dbg, &breakpoints.Set{}
	}
	return theBreaks.set
}

// KnowFiles sets the function that reads what a process has loaded. It must not ask the session, whose lock is held.
func (s *Session) KnowFiles(read func(pid int, arch unwind.Arch, memory unwind.Memory) (*codemap.Map, error)) {
	s.breaks.Read(func(t *proc.Target) (*codemap.Map, error) {
		return read(t.Pid(), targets.Arch(t), targets.Original{Target: t})
	})
}

// TellBreaks has a function called when a breakpoint in native code is placed that was pending, or is pending again. It must not wait.
func (s *Session) TellBreaks(f func(breakpoints.Change)) (end func()) { return s.breaks.Tell(f) }

// Breakpoints are set, and searched for, aside of what runs: see [door.Aside].

// BreakWanted sets the breakpoint that a client wants, if clew finds its code, or the code may come with a library, and says how it is. It is found by its
// name then, and gets its condition from the client. All else is left to Delve: nil. The error says that the location has
// more than one meaning.
func (s *Session) BreakWanted(name string, where breakpoints.Where, message string) (*breakpoints.Change, error) {
	id := s.breakNamed(name)
	if id == 0 {
		bp, err := s.BreakNative(api.Breakpoint{Name: name}, where)
		if errors.Is(err, held.ErrNoLocation) {
			return nil, nil // Delve says so
		}
		if err != nil {
			return nil, err
		}
		id = bp.ID
	}
	_, unlock := s.Door.Aside().Stopped()
	defer unlock()
	s.breaks.Log(id, message)
	return s.breaks.State(id), nil
}

// WhereAt is the place of an instruction in native code that outlives the image it is in, none for other code.
func (s *Session) WhereAt(addr uint64) breakpoints.Where {
	group, unlock := s.Door.Aside().Stopped()
	defer unlock()
	m := s.loaded(group.Selected)
	if m == nil || !native.Of(m).IsNative(addr) {
		return breakpoints.Where{}
	}
	return breakpoints.At(m, addr)
}

// breakNamed returns the number of the breakpoint of a name, 0 for none.
func (s *Session) breakNamed(name string) int {
	group, unlock := s.Door.Aside().Stopped()
	defer unlock()
	for id, l := range group.LogicalBreakpoints {
		if l.Name == name && name != "" {
			return id
		}
	}
	return 0
}

// BreakNative creates a breakpoint whose code is native, or may come with a library: then it is pending. The error wraps
// [held.ErrNoLocation] where neither holds, or the code is Go's.
func (s *Session) BreakNative(wanted api.Breakpoint, where breakpoints.Where) (*api.Breakpoint, error) {
	places, err := s.findNative(where)
	if err != nil {
		return nil, err
	}
	return s.create(wanted, where, places)
}

func (s *Session) create(wanted api.Breakpoint, where breakpoints.Where, places []native.Place) (*api.Breakpoint, error) {
	wanted.Addr, wanted.Addrs, wanted.File, wanted.Line, wanted.FunctionName = 0, nil, "", 0, ""
	for _, p := range places {
		wanted.Addrs = append(wanted.Addrs, p.Addr)
	}
	wanted.AddrPid = slices.Repeat([]int{s.Pid()}, len(places))
	bp, err := s.Door.Aside().CreateBreakpoint(&wanted)
	if err != nil {
		return nil, err
	}
	return s.AdoptBreak(bp.ID, where)
}

// BreakLocation sets a breakpoint at a location in the terminal's notation, in any code. It is pending where a library may still bring the
// location; id is 0 where another breakpoint stands there. The error wraps [held.ErrNoLocation] where none can.
func (s *Session) BreakLocation(loc string) (id int, pending bool, err error) {
	where := breakpoints.Parse(loc)
	places, err := s.findNative(where)
	if err != nil && !errors.Is(err, held.ErrNoLocation) {
		return 0, false, err
	}
	if len(places) == 0 {
		addrs, err := s.Locate(loc)
		if err == nil {
			id, err = s.BreakAt(addrs...)
			if errors.As(err, new(proc.BreakpointExistsError)) {
				return 0, false, nil
			}
			return id, false, err
		}
		if where.None() || !s.canLoad() {
			return 0, false, err
		}
	}
	bp, err := s.create(api.Breakpoint{}, where, places)
	if err != nil {
		return 0, false, err
	}
	return bp.ID, len(places) == 0, nil
}

func (s *Session) canLoad() bool {
	group, unlock := s.Door.Aside().Stopped()
	defer unlock()
	m := s.loaded(group.Selected)
	return m != nil && breakpoints.CanLoad(m)
}

// AdoptBreak makes a breakpoint of Delve's one whose places clew finds from now on.
func (s *Session) AdoptBreak(id int, where breakpoints.Where) (*api.Breakpoint, error) {
	group, unlock := s.Door.Aside().Stopped()
	if l := group.LogicalBreakpoints[id]; l != nil {
		s.breaks.Adopt(group.Selected, l, where)
	}
	unlock()
	bp := s.Door.Aside().FindBreakpoint(id)
	if bp == nil {
		return nil, fmt.Errorf("no breakpoint with ID %d", id)
	}
	return bp, nil
}

// findNative returns the places of a location that clew knows, and Delve not or not alone; none where the code may come with a library.
func (s *Session) findNative(where breakpoints.Where) ([]native.Place, error) {
	if where.None() {
		return nil, held.ErrNoLocation
	}
	isGo, several := s.askDelve(where)
	group, unlock := s.Door.Aside().Stopped()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return nil, err
	}
	m := s.loaded(t)
	if m == nil {
		return nil, held.ErrNoLocation
	}
	code := native.Of(m)
	if isGo(code, t.BinInfo()) {
		return nil, held.ErrNoLocation
	}
	places, err := where.ByClew(m, t)
	if err == nil && len(places) == 0 && (several || !breakpoints.CanLoad(m) || !mayCome(where, code, t.BinInfo())) {
		err = held.ErrNoLocation
	}
	return places, err
}

// loaded is what a process has loaded, nil where that cannot be read. The lock is held.
func (s *Session) loaded(t *proc.Target) *codemap.Map {
	if !s.Live() {
		return s.KnownMap()
	}
	return s.breaks.Code(t)
}

// header says that another library may have more code of a file.
func header(file string) bool {
	ext := filepath.Ext(file)
	return ext == "" || strings.HasPrefix(ext, ".h") || ext == ".inl" || ext == ".inc" || ext == ".tcc"
}

// mayCome says that code with this location may be loaded later. Files and functions of Go's are Delve's to say.
func mayCome(where breakpoints.Where, code *native.Code, bi *proc.BinaryInfo) bool {
	switch {
	case where.File != "":
		isIt := func(file string) bool {
			return file == where.File || !header(file) && strings.HasSuffix(file, "/"+where.File)
		}
		return !strings.HasSuffix(where.File, ".go") && !slices.ContainsFunc(bi.Sources, isIt) && !slices.ContainsFunc(code.Sources(), isIt)
	case where.Function != "":
		name := where.Function
		if strings.HasPrefix(name, "if ") || strings.Contains(name, " ") && !strings.ContainsAny(name, "(<") && !strings.Contains(name, "operator") {
			return false // a terminal asks for all of a line first, with a condition or a breakpoint's name
		}
		number := name[0] >= '0' && name[0] <= '9' // a line of the present file
		return !number && (strings.Contains(name, "::") || !strings.ContainsAny(name, "./+-"))
	}
	return true
}

// askDelve asks Delve for a function. known says whether it has found Go code; several, that the name has more than one meaning to it.
func (s *Session) askDelve(where breakpoints.Where) (known func(*native.Code, *proc.BinaryInfo) bool, several bool) {
	var locs []api.Location
	if where.Function != "" {
		var err error
		locs, err = s.findByDelve(where.Function)
		several = errors.As(err, new(locspec.AmbiguousLocationError))
	}
	return func(code *native.Code, bi *proc.BinaryInfo) bool {
		return slices.ContainsFunc(locs, func(l api.Location) bool { return bi.PCToFunc(l.PC) != nil && !code.IsNative(l.PC) })
	}, several
}

// findByDelve is Delve's answer. Its reader does not survive all tables.
func (s *Session) findByDelve(loc string) (locs []api.Location, err error) {
	defer func() {
		if r := recover(); r != nil {
			locs, err = nil, fmt.Errorf("%w: Delve's search: %v", held.ErrNoLocation, r)
		}
	}()
	return s.Door.Aside().FindLocation(loc)
}

// IsNativeBreak says that clew places a breakpoint.
func (s *Session) IsNativeBreak(id int) bool {
	_, unlock := s.Door.Aside().Stopped()
	defer unlock()
	return s.breaks.Has(id)
}

// PrintAt sets what a breakpoint that clew places prints.
func (s *Session) PrintAt(id int, p breakpoints.Prints) {
	_, unlock := s.Door.Aside().Stopped()
	defer unlock()
	s.breaks.Print(id, p)
}

// ShowAtStop is ShowBreaks at a stop. Where the program runs, the breakpoints stay as they are.
func (s *Session) ShowAtStop(all ...*api.Breakpoint) {
	if _, unlock, err := s.Stopped(); err == nil {
		defer unlock()
		s.breaks.Show(all...)
	}
}

// ShowBreaks completes breakpoints for a client.
func (s *Session) ShowBreaks(all ...*api.Breakpoint) {
	_, unlock := s.Door.Aside().Stopped()
	defer unlock()
	s.breaks.Show(all...)
}

// PendingBreaks returns which breakpoints are not placed, by their numbers, and why, where their code is loaded.
func (s *Session) PendingBreaks(ids ...int) map[int]error {
	_, unlock := s.Door.Aside().Stopped()
	defer unlock()
	out := make(map[int]error)
	for _, id := range ids {
		if lack, ok := s.breaks.Pending(id); ok {
			out[id] = lack
		}
	}
	return out
}

// ErrNotLoaded says that a location may come with a library.
var ErrNotLoaded = fmt.Errorf("%w in what is loaded", held.ErrNoLocation)

// LocateNative returns a location in the terminal's notation where clew finds it, and Delve not or not alone. A regular expression has a
// location for each function. The error wraps [held.ErrNoLocation] where there is none.
func (s *Session) LocateNative(loc string) ([]api.Location, error) {
	_, unlock, err := s.Stopped()
	if err != nil {
		return nil, err
	}
	unlock()
	if pattern, ok := breakpoints.Pattern(loc); ok {
		code, err := s.stoppedCode()
		if err != nil {
			return nil, err
		}
		found, err := breakpoints.Matching(code, s.Pid(), pattern)
		if err == nil && len(found) == 0 {
			err = held.ErrNoLocation
		}
		return found, err
	}
	places, err := s.findNative(breakpoints.Parse(loc))
	if err != nil || len(places) == 0 {
		return nil, cmp.Or(err, ErrNotLoaded)
	}
	return []api.Location{breakpoints.LocationOf(s.Pid(), places)}, nil
}
