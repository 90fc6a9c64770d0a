package assembler

import (
	"encoding/binary"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
)

// Target describes a stopped process at one stop.
type Target struct {
	Arch unwind.Arch
	OS   string // GOOS
	// Order is the target's byte order; nil means the architecture's default.
	Order  binary.ByteOrder
	Memory unwind.Memory
	// Executable holds every executable mapping; nil where mappings are unknown,
	// and then no PC is refused for lying outside of them (R3, R5).
	Executable unwind.RangeSet
	// Writable holds every writable mapping, nil where mappings are unknown. A
	// signal may have interrupted code on a stack that was not announced.
	Writable unwind.RangeSet
	Code     CodeMap
	// PACMask has the bits set that pointer authentication uses in return
	// addresses (R11).
	PACMask uint64
}

func (t *Target) order() binary.ByteOrder {
	if t.Order != nil {
		return t.Order
	}
	return t.Arch.ByteOrder()
}

func (t *Target) word(addr uint64) (uint64, error) {
	return unwind.ReadWord(t.Memory, addr, t.Arch.PointerSize(), t.order())
}

// CodeMap holds the target's code: the function around an address, and the
// original bytes (breakpoints removed).
type CodeMap interface {
	// Function returns the function that the address lies in.
	Function(at unwind.LookupAddr) (Function, bool)
	// Bytes returns up to n original bytes of code from addr on: up to the first
	// gap, possibly none.
	Bytes(addr uint64, n int) []byte
	// Complete reports whether all functions of the image that the address lies in
	// are known: nothing else was ever called.
	Complete(at unwind.LookupAddr) bool
	// Model returns the model of the image that an address lies in, nil if it has
	// none, and where the image is loaded: what is added to the model's addresses.
	Model(at unwind.LookupAddr) (m *codemodel.Image, bias uint64)
}

// Function is a function of the target, at one address in it.
type Function struct {
	Name       string
	Start, End uint64 // End is 0 where unknown
	// Exact is false where Start is only the nearest symbol below.
	Exact bool
	// Whole is the entry of the function that this is a part of, which the compiler
	// has moved; 0 if it is not such a part, or that is unknown.
	Whole uint64
	// Go: the function is in Go's tables. SPDelta is then, if HasSPDelta, the
	// number of bytes that SP is below its value at entry, at the queried address.
	// Outermost marks functions at which stacks end: for Go where the runtime's
	// own tracebacks stop (FuncFlag TopFrame), for C the entry point and where the
	// C library starts threads.
	Go         bool
	SPDelta    int64
	HasSPDelta bool
	Outermost  bool
	// Asm marks a Go function that was written in assembly: it need not keep a
	// frame pointer.
	Asm bool
}

// Options bound one walk.
type Options struct {
	// MaxFrames bounds the number of physical frames; 0 means no bound.
	MaxFrames int
	// AllRegisters keeps every recovered register of every frame.
	AllRegisters bool
	// Sink, if there is one, gets the frames instead of the caller.
	Sink Sink
	// Claims returns Delve's frames where the thread does not have them yet, for a stack with so many frames. It is called
	// when they are needed, at the latest when the walk has ended. nil: they are the thread's.
	Claims func(frames int) []unwind.Frame
	// Asking is called each time before a strategy is asked, which may be another process; may be nil.
	Asking func()
}

// Strategy is an unwinder at its rank.
type Strategy struct {
	Description unwind.Description
	Unwinder    unwind.Unwinder
	// Coverage is the strategy's coverage of the target's images.
	Coverage unwind.RangeSet
}

func (s *Strategy) serves(arch unwind.Arch, at unwind.LookupAddr) bool {
	if !s.Description.Anywhere && !s.Coverage.Contains(uint64(at)) {
		return false
	}
	return slices.Contains(s.Description.Arches, arch)
}

// scans reports whether a strategy's frames have at most the trust of a scan.
// Such a strategy is asked for one frame at a time, so that better strategies get
// the next (R2).
func (s *Strategy) scans() bool { return s.Description.Trust <= unwind.TrustScan }

// Assembler builds stacks with strategies, best ranked first.
type Assembler struct {
	Strategies []Strategy

	calls callFindings
}

// trustOf is the trust that a strategy's frames can have.
func (a *Assembler) trustOf(name string) unwind.Trust {
	if i := a.rank(name); i >= 0 {
		return a.Strategies[i].Description.Trust
	}
	return unwind.TrustCFI // the host's rules
}

// scansAfter reports whether a strategy that scans comes after this one.
func (a *Assembler) scansAfter(name string) bool {
	i := a.rank(name)
	return i >= 0 && slices.ContainsFunc(a.Strategies[i+1:], func(s Strategy) bool { return s.scans() })
}

func (a *Assembler) rank(name string) int {
	return slices.IndexFunc(a.Strategies, func(s Strategy) bool { return s.Description.Name == name })
}
