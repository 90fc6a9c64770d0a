package frames

import (
	"errors"
	"fmt"
	"sync"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
	"github.com/google/go-dap"
)

// An ID of clew's is debuggee.FirstID, plus the epoch (modulo maxEpoch) in its high bits, plus a
// number in its low ones.
const (
	numberBits = 20
	maxNumber  = 1 << numberBits
	maxEpoch   = debuggee.FirstID / maxNumber
)

// Ref is a frame that an ID stands for.
type Ref struct {
	stack *assembled
	frame int // index into its frames; -1 for a label
}

// Thread is the thread of control that the frame is of.
func (r Ref) Thread() *unwind.Thread { return &r.stack.found.Thread.Thread }

// Function is the frame's, "" for a label.
func (r Ref) Function() string {
	if r.stack == nil || r.frame < 0 {
		return ""
	}
	return r.stack.stack.Frames[r.frame].Function
}

// Innermost says whether it is the innermost frame of its stack, or inlined there.
func (r Ref) Innermost() bool {
	if r.stack == nil || r.frame < 0 {
		return false
	}
	for i := range r.stack.stack.Frames[:r.frame] {
		if !r.stack.stack.Frames[i].Inlined {
			return false
		}
	}
	return true
}

// PC is the frame's address.
func (r Ref) PC() uint64 { return r.stack.stack.Frames[r.frame].PC.Raw() }

// IDs are those that the client knows at the present stop.
type IDs struct {
	mu    sync.Mutex
	epoch uint64
	clew  []Ref         // frames with IDs of clew's
	delve map[int64]Ref // frames with Delve's IDs
	vars  []Held        // clew's variable references
}

// Held is what a variable reference of clew's stands for: variables, or those that
// Delve has by a reference of its own, of a frame that was inserted into its stack, or values of a native frame.
type Held struct {
	Vars   []dap.Variable
	Values *Values
	Delve  int64
	Frame  Ref
}

// StaleError says that an ID is of an earlier stop, or unknown.
type StaleError struct {
	What string
	ID   int64
}

// Error says what to do.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s %d is not of the present stop: ask for the stack again", e.What, e.ID)
}

var errTooMany = errors.New("too many frames at one stop")

// turn forgets what belongs to other stops.
func (f *IDs) turn(epoch uint64) {
	if f.epoch != epoch {
		f.epoch, f.clew, f.vars, f.delve = epoch, nil, nil, nil
	}
}

func clewID(epoch uint64, number int) int {
	return debuggee.FirstID + int(epoch%maxEpoch)<<numberBits + number
}

// mint makes an ID for a frame.
func (f *IDs) mint(epoch uint64, ref Ref) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if len(f.clew) == maxNumber {
		return 0, errTooMany
	}
	f.clew = append(f.clew, ref)
	return clewID(epoch, len(f.clew)-1), nil
}

// MintVars makes a reference for variables, 0 for none.
func (f *IDs) MintVars(epoch uint64, vars Held) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	// Number 0 is not used: in epoch 0 it would be the ID 0, which means none.
	if len(vars.Vars) == 0 && vars.Delve == 0 && vars.Values == nil || len(f.vars)+1 == maxNumber {
		return 0
	}
	f.vars = append(f.vars, vars)
	return clewID(epoch, len(f.vars))
}

// knows remembers which frame an ID of Delve's stands for.
func (f *IDs) rememberOne(epoch uint64, id int64, ref Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if f.delve == nil {
		f.delve = make(map[int64]Ref)
	}
	f.delve[id] = ref
}

// know remembers which frames the IDs of a page of Delve's stand for.
func (f *IDs) remember(epoch uint64, page []delveFrame, stack *assembled, start int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if f.delve == nil {
		f.delve = make(map[int64]Ref, len(page))
	}
	for i := range page {
		f.delve[page[i].id] = Ref{stack, start + i}
	}
}

// Find returns the frame for an ID, at the present stop. An ID of Delve's may be
// unknown without being wrong: known says which.
func (f *IDs) Find(at stop.Moment, id int64) (ref Ref, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id < debuggee.FirstID {
		if f.epoch == at.Epoch {
			ref, known = f.delve[id]
		}
		return ref, known, nil
	}
	n, ok := f.number(at, id)
	if !ok || n >= len(f.clew) {
		return ref, false, &StaleError{"frame", id}
	}
	return f.clew[n], true, nil
}

// Variables returns the variables for a reference of ours.
func (f *IDs) Variables(at stop.Moment, id int64) (Held, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.number(at, id)
	if !ok || n < 1 || n > len(f.vars) {
		return Held{}, &StaleError{"variable reference", id}
	}
	return f.vars[n-1], nil
}

func (f *IDs) number(at stop.Moment, id int64) (n int, ok bool) {
	if f.epoch != at.Epoch || id < debuggee.FirstID || id >= 2*debuggee.FirstID {
		return 0, false
	}
	n = int(id - debuggee.FirstID)
	return n % maxNumber, uint64(n>>numberBits) == at.Epoch%maxEpoch
}
