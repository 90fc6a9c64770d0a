package goruntime

import (
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// Layout holds byte offsets of fields in runtime.g and runtime.m, read from the
// program's own DWARF and not from a Go version number.
type Layout struct {
	TLS int64 // where the thread's g is, from the TLS base on; 0 if the layout does not say

	gStackLo, gStackHi                int64
	gM, gGoid, gStatus, gStartPC      int64
	gSchedSP, gSchedPC, gSchedBP      int64
	gSchedLR                          int64
	gSyscallSP, gSyscallPC, gSyscallB int64
	gLockedM                          int64
	mG0, mGsignal, mCurg              int64
	mIsExtra, mProcid, mAllLink       int64
	gSize                             int64

	// Of a goroutine's state; -1 where it is not known.
	gWaitReason, gWaitSince, gGoPC, gParent, gLabels, gWaiting int64
	gAncestors                                                 int64
	ancestorPCs, ancestorGoid, ancestorSize                    int64 // of runtime.ancestorInfo
	sudogC                                                     int64
	pStatus, pID                                               int64
	lastUnix, lastNano, pauseEnd                               int64 // of runtime.mstats
}

// Structure says where a structure's fields are.
type Structure interface {
	// Offset returns that of a field, or of a field in it: "stack.lo".
	Offset(path string) (int64, error)
	Size() int64
}

// NewLayout reads the layout; an error means that the runtime has changed beyond
// recognition. more finds further structures by their names, and returns nil for one
// that is not known.
func NewLayout(g, m Structure, more func(name string) Structure) (l *Layout, err error) {
	sudog, mstats, p := more("runtime.sudog"), more("runtime.mstats"), more("runtime.p")
	ancestor := more("runtime.ancestorInfo")
	l = &Layout{gSize: g.Size()}
	if ancestor != nil {
		l.ancestorSize = ancestor.Size()
	}
	for _, f := range []struct {
		in       Structure
		path     string
		to       *int64
		optional bool
	}{
		{in: g, path: "stack.lo", to: &l.gStackLo},
		{in: g, path: "stack.hi", to: &l.gStackHi},
		{in: g, path: "m", to: &l.gM},
		{in: g, path: "goid", to: &l.gGoid},
		{in: g, path: "startpc", to: &l.gStartPC},
		{in: g, path: "atomicstatus", to: &l.gStatus},
		{in: g, path: "sched.sp", to: &l.gSchedSP},
		{in: g, path: "sched.pc", to: &l.gSchedPC},
		{in: g, path: "sched.bp", to: &l.gSchedBP},
		{in: g, path: "syscallsp", to: &l.gSyscallSP},
		{in: g, path: "syscallpc", to: &l.gSyscallPC},
		{in: m, path: "g0", to: &l.mG0},
		{in: m, path: "gsignal", to: &l.mGsignal},
		{in: m, path: "curg", to: &l.mCurg},
		{g, "sched.lr", &l.gSchedLR, true},   // a machine without a link register may do without
		{g, "syscallbp", &l.gSyscallB, true}, // Go 1.23 and later; before, the frame pointer of a system call is unknown
		{m, "isextra", &l.mIsExtra, true},    // Go 1.21 and later
		{g, "lockedm", &l.gLockedM, true},
		{m, "procid", &l.mProcid, true},
		{m, "alllink", &l.mAllLink, true},
		{g, "waitreason", &l.gWaitReason, true},
		{g, "waitsince", &l.gWaitSince, true},
		{g, "gopc", &l.gGoPC, true},
		{g, "parentGoid", &l.gParent, true}, // Go 1.21 and later
		{g, "labels", &l.gLabels, true},
		{g, "waiting", &l.gWaiting, true},
		{g, "ancestors", &l.gAncestors, true},
		{ancestor, "pcs", &l.ancestorPCs, true},
		{ancestor, "goid", &l.ancestorGoid, true},
		{sudog, "c", &l.sudogC, true},
		{p, "status", &l.pStatus, true},
		{p, "id", &l.pID, true},
		{mstats, "last_gc_unix", &l.lastUnix, true},
		{mstats, "last_gc_nanotime", &l.lastNano, true},
		{mstats, "pause_end", &l.pauseEnd, true},
	} {
		if f.in == nil {
			*f.to = -1
		} else if *f.to, err = f.in.Offset(f.path); err != nil {
			if !f.optional {
				return nil, err
			}
			*f.to = -1
		}
	}
	return l, nil
}

// CodeLayout reads what stacks need of the layout from the runtime's code, where
// there is no DWARF. Goroutines' IDs and states stay unknown.
func CodeLayout(arch unwind.Arch, code gocode.Code) (*Layout, error) {
	c, err := gocode.ReadLayout(arch, code)
	if err != nil {
		return nil, err
	}
	return &Layout{
		TLS: c.TLS, gStackLo: c.StackLo, gStackHi: c.StackHi, gM: c.M, gSchedPC: c.SchedPC, gSchedSP: c.SchedSP, gSchedBP: c.SchedBP,
		mG0: c.G0, mGsignal: c.Gsignal, mCurg: c.Curg,
		gSize: max(c.StackHi, c.M, c.SchedPC, c.SchedSP, c.SchedBP) + 8,
		gGoid: -1, gStatus: -1, gStartPC: -1, gSchedLR: -1, gSyscallSP: -1, gSyscallPC: -1, gSyscallB: -1, gLockedM: -1, mIsExtra: -1,
		mProcid: -1, mAllLink: -1, gWaitReason: -1, gWaitSince: -1, gGoPC: -1, gParent: -1, gLabels: -1, gWaiting: -1, gAncestors: -1, sudogC: -1, pauseEnd: -1, pStatus: -1, pID: -1,
	}, nil
}
