package dap

import (
	"errors"
	"fmt"
	"sync"

	"github.com/clewdbg/clew/server/stop"
	"github.com/google/go-dap"
)

// An ID of clew's is FirstID, plus the epoch (modulo maxEpoch) in its high bits, plus a
// number in its low ones.
const (
	numberBits = 20
	maxNumber  = 1 << numberBits
	maxEpoch   = FirstID / maxNumber
)

// frameRef is a frame that an ID stands for.
type frameRef struct {
	stack *assembled
	frame int // index into its frames; -1 for a label
}

// frames are the IDs that the client was given at the present stop.
type frames struct {
	mu    sync.Mutex
	epoch uint64
	clew  []frameRef         // frames with IDs of clew's
	delve map[int64]frameRef // frames with Delve's IDs
	vars  []held             // clew's variable references
}

// held is what a variable reference of clew's stands for: variables, or those that
// Delve has by a reference of its own, of a frame that was lent to it.
type held struct {
	vars  []dap.Variable
	delve int64
	frame frameRef
}

// StaleError says that an ID is of an earlier stop, or was never given.
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
func (f *frames) turn(epoch uint64) {
	if f.epoch != epoch {
		f.epoch, f.clew, f.vars, f.delve = epoch, nil, nil, nil
	}
}

func ownID(epoch uint64, number int) int {
	return FirstID + int(epoch%maxEpoch)<<numberBits + number
}

// mint makes an ID for a frame.
func (f *frames) mint(epoch uint64, ref frameRef) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if len(f.clew) == maxNumber {
		return 0, errTooMany
	}
	f.clew = append(f.clew, ref)
	return ownID(epoch, len(f.clew)-1), nil
}

// mintVars makes a reference for variables, 0 for none.
func (f *frames) mintVars(epoch uint64, vars held) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	// Number 0 is not used: it stands for "nothing" when the epoch is.
	if len(vars.vars) == 0 && vars.delve == 0 || len(f.vars)+1 == maxNumber {
		return 0
	}
	f.vars = append(f.vars, vars)
	return ownID(epoch, len(f.vars))
}

// knows remembers which frame an ID of Delve's stands for.
func (f *frames) knows(epoch uint64, id int64, ref frameRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if f.delve == nil {
		f.delve = make(map[int64]frameRef)
	}
	f.delve[id] = ref
}

// know remembers which frames the IDs of a page of Delve's stand for.
func (f *frames) know(epoch uint64, page []delveFrame, stack *assembled, start int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(epoch)
	if f.delve == nil {
		f.delve = make(map[int64]frameRef, len(page))
	}
	for i := range page {
		f.delve[page[i].id] = frameRef{stack, start + i}
	}
}

// find returns the frame for an ID, at the present stop. An ID of Delve's may be
// unknown without being wrong: known says which.
func (f *frames) find(at stop.Moment, id int64) (ref frameRef, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id < FirstID {
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

// variables returns the variables for a reference of ours.
func (f *frames) variables(at stop.Moment, id int64) (held, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.number(at, id)
	if !ok || n < 1 || n > len(f.vars) {
		return held{}, &StaleError{"variable reference", id}
	}
	return f.vars[n-1], nil
}

func (f *frames) number(at stop.Moment, id int64) (n int, ok bool) {
	if f.epoch != at.Epoch || id < FirstID || id >= 2*FirstID {
		return 0, false
	}
	n = int(id - FirstID)
	return n % maxNumber, uint64(n>>numberBits) == at.Epoch%maxEpoch
}
