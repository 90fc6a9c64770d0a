package reading

import (
	"sync/atomic"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/held"
)

// stackCache has Delve remember a stack for longer than a request: an editor asks for one stack several times, each
// time from its beginning.
type stackCache struct {
	of      *held.Program
	keeping atomic.Bool
	passed  atomic.Bool // what was kept is forgotten by Delve
	kept    *stackSlots // nil for none
	paged   *paged      // the memory of the stack that Delve remembers for a while, nil for none
}

// KeepStack has Delve remember the stack that clew asks it for last, until it is asked for another one, the target
// runs, or ForgetStack is called. It is not for a target that others may change.
func (k *stackCache) KeepStack() { k.keeping.Store(true) }

// ForgetStack must be called before a request that may change registers or memory.
func (k *stackCache) ForgetStack() {
	if !k.keeping.Swap(false) {
		return
	}
	_, unlock, err := k.of.Stopped()
	if err != nil {
		k.passed.Store(true) // the program was resumed, for which Delve forgets all stacks
		return
	}
	defer unlock()
	k.forgetKept()
}

// keep notes which stack Delve remembers, if it is to. Only one is.
func (k *stackCache) keep(t *proc.Target, g *proc.G) {
	if k.passed.Swap(false) {
		k.kept, k.paged = nil, nil
	}
	if !k.keeping.Load() || k.kept != nil && k.kept.goroutine == g.ID {
		return
	}
	if r, err := slotsOf(t, g); err == nil && r.known() {
		k.forgetKept()
		k.kept = &r
	}
}

func (k *stackCache) forgetKept() {
	if k.kept != nil {
		k.kept.forget()
		k.kept, k.paged = nil, nil
	}
}
