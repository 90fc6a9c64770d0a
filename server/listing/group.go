package listing

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// By is what the stacks of a group have in common.
type By string

// The ways to group.
const (
	None      By = "none"
	Stack     By = "stack"      // the same state and the same addresses of code
	Function  By = "function"   // the same innermost function of the program's own
	CreatedBy By = "created-by" // the same go statement
	Label     By = "label"      // the same labels of runtime/pprof
)

// Ways are all ways to group.
var Ways = []By{Stack, Function, CreatedBy, Label, None}

// Group is stacks that are alike.
type Group struct {
	Stack      unwind.Stack // the first of them
	Title      string       // what they have in common; "" where they are equal
	Goroutines []uint64
	Threads    []uint64 // that run no goroutine
	Since      time.Time
	WaitsOn    map[uint64]int // how many wait on each channel
	rank       int
}

// Count is how many stacks the group has.
func (g *Group) Count() int { return len(g.Goroutines) + len(g.Threads) }

// Groups collects stacks into groups.
type Groups struct {
	By   By
	Ours Ours
	seed maphash.Seed
	of   map[uint64]*Group
	list []*Group
	code map[*unwind.Frame]uint64 // hashes of frames that stacks share
}

// NewGroups makes groups without stacks.
func NewGroups(by By) *Groups {
	return &Groups{By: by, seed: maphash.MakeSeed(), of: make(map[uint64]*Group), code: make(map[*unwind.Frame]uint64)}
}

// Add puts a stack into its group. The stack must not be changed afterwards.
func (gs *Groups) Add(s *unwind.Stack) {
	key, title := gs.key(s)
	g := gs.of[key]
	if g == nil || gs.By == None {
		g = &Group{Stack: *s, Title: title, rank: gs.rankOf(s)}
		gs.of[key] = g
		gs.list = append(gs.list, g)
		if len(s.Frames) > 0 && gs.By != None {
			gs.code[&g.Stack.Frames[0]] = gs.codeKey(s.Frames)
		}
	}
	if gs.By != Stack { // else all have the same functions and state
		g.rank = min(g.rank, gs.rankOf(s))
	}
	if s.Goroutine == 0 {
		g.Threads = append(g.Threads, s.Thread)
	} else {
		g.Goroutines = append(g.Goroutines, s.Goroutine)
	}
	if s.State == nil {
		return
	}
	if since := s.State.WaitSince; !since.IsZero() && (g.Since.IsZero() || since.Before(g.Since)) {
		g.Since = since
	}
	if on := s.State.WaitsOn; on != 0 {
		if g.WaitsOn == nil {
			g.WaitsOn = make(map[uint64]int)
		}
		g.WaitsOn[on]++
	}
}

// key identifies a stack's group, and title says what it has in common.
func (gs *Groups) key(s *unwind.Stack) (key uint64, title string) {
	switch gs.By {
	case Function:
		title = "in no function of the program's own"
		if h := gs.Ours.Headline(s); h.Own != nil {
			title = "in " + h.Own.Function
		}
	case CreatedBy:
		title = "creator not known"
		if s.State != nil && s.State.CreatedBy != nil {
			c := s.State.CreatedBy
			title = fmt.Sprintf("created by %s at %s:%d", c.Function, c.File, c.Line)
		}
	case Label:
		title = "without labels"
		if s.State != nil && len(s.State.Labels) > 0 {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(s.State.Labels)) {
				list = append(list, name+"="+s.State.Labels[name])
			}
			title = strings.Join(list, ", ")
		}
	default:
		return gs.stackKey(s), ""
	}
	return maphash.String(gs.seed, title), title
}

// stackKey is the same for stacks with the same code, end and state.
func (gs *Groups) stackKey(s *unwind.Stack) uint64 {
	var h maphash.Hash
	h.SetSeed(gs.seed)
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], gs.codeKey(s.Frames))
	_, _ = h.Write(word[:])
	_, _ = h.WriteString(s.Stop.String())
	if s.State != nil {
		_, _ = h.WriteString(s.State.Status)
		_, _ = h.WriteString("/")
		_, _ = h.WriteString(s.State.WaitReason)
	}
	if s.Goroutine == 0 {
		_, _ = h.WriteString("thread ")
		_, _ = h.WriteString(s.ThreadName)
	}
	return h.Sum64()
}

// codeKey is the same for frames with the same code.
func (gs *Groups) codeKey(frames []unwind.Frame) uint64 {
	if len(frames) == 0 {
		return 0
	}
	if key, ok := gs.code[&frames[0]]; ok {
		return key
	}
	var h maphash.Hash
	h.SetSeed(gs.seed)
	var word [8]byte
	for i := range frames {
		f := &frames[i]
		binary.LittleEndian.PutUint64(word[:], f.PC.Raw())
		_, _ = h.Write(word[:])
		_ = h.WriteByte(byte(f.Trust))
		_, _ = h.WriteString(f.Function)
	}
	return h.Sum64()
}

// Orders are the orders of groups.
var Orders = []string{"suspicion", "count", "wait", "id"}

// Sorted returns the groups in one of the [Orders]; "" leaves them as they came.
//
// By suspicion, those that the runtime has found leaked come first, then what runs
// and what is in C under the user's own code, then what waits there, then what runs and waits elsewhere, what waits for work or
// sleeps, and last what is only the runtime's; each the largest first. The whole stack counts, not where it ends.
func (gs *Groups) Sorted(order string) []*Group {
	orders := map[string]func(a, b *Group) int{
		"": func(*Group, *Group) int { return 0 },
		"suspicion": func(a, b *Group) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.Count(), a.Count()), longer(a, b))
		},
		"count": func(a, b *Group) int { return cmp.Compare(b.Count(), a.Count()) },
		"wait":  longer,
		"id":    func(a, b *Group) int { return cmp.Compare(a.first(), b.first()) },
	}
	out := slices.Clone(gs.list)
	slices.SortStableFunc(out, orders[order])
	return out
}

// first is the lowest ID; threads come after goroutines.
func (g *Group) first() uint64 {
	if len(g.Goroutines) > 0 {
		return slices.Min(g.Goroutines)
	}
	return 1<<63 | g.Threads[0]
}

// longer puts first what has waited longer.
func longer(a, b *Group) int {
	switch {
	case a.Since.IsZero() || b.Since.IsZero():
		return cmp.Compare(unknown(a), unknown(b))
	default:
		return a.Since.Compare(b.Since)
	}
}

func unknown(g *Group) int {
	if g.Since.IsZero() {
		return 1
	}
	return 0
}

// Ranks by suspicion.
const (
	rankLeaked = iota
	rankActive
	rankWaits
	rankOthers // not in the user's own code
	rankIdle   // waits for work, or for the clock alone
	rankRuntime
)

func (gs *Groups) rankOf(s *unwind.Stack) int {
	h := gs.Ours.Headline(s)
	waits := s.State != nil && s.State.Status == "waiting"
	switch {
	case s.State != nil && s.State.Status == "leaked":
		return rankLeaked
	case h.Own == nil:
		return rankRuntime
	case waits && s.State.WaitReason == "sleep" || h.idle(s):
		return rankIdle
	case !h.Ours:
		return rankOthers
	case !waits:
		return rankActive
	}
	return rankWaits
}

// Own is the innermost frame of the program's own code: native code, and Go
// outside of the runtime and the packages that wait on its behalf. It is nil if
// the stack has no such frame.
func Own(s *unwind.Stack) *unwind.Frame {
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Function != "" && !ofRuntime(f.Function) {
			return f
		}
	}
	return nil
}

// ofRuntime says whether a function is of Go's runtime, or of a package that waits
// on behalf of others.
func ofRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "runtime/", "internal/", "sync.", "sync/", "syscall.", "time.Sleep", "_cgo_", "crosscall", "_rt0_", "x_cgo_"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return outermost[function]
}

// outermost are the functions in which the C library starts threads and programs, and those that handlers of signals return to.
var outermost = map[string]bool{"__restore_rt": true, "__kernel_rt_sigreturn": true, "start_thread": true, "clone": true, "clone3": true, "__clone3": true, "__clone": true, "_start": true, "__libc_start_main": true, "threadentry": true}
