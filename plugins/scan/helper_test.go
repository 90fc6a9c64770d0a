package scan

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// The synthetic image: functions by name, at addresses that say little of one
// another, so that each has a page's part of its own.
const (
	codeBase  = 0x40_1000
	codeSize  = 0x2000
	dataBase  = 0x40_4000 // pointers that stubs and calls go through
	stackBase = 0x7ffd_0000_0000
)

const (
	leafAt    = codeBase          // a leaf: nop; ret
	midAt     = codeBase + 0x100  // has 24 bytes of locals and calls leaf
	outerAt   = codeBase + 0x200  // has 40 and calls mid
	otherAt   = codeBase + 0x300  // calls another leaf
	other2At  = codeBase + 0x400  // that one
	pointerAt = codeBase + 0x500  // calls what rax holds
	stubAt    = codeBase + 0x600  // a stub for leaf
	byStubAt  = codeBase + 0x700  // calls the stub
	tailAt    = codeBase + 0x800  // jumps to leaf
	byTailAt  = codeBase + 0x900  // calls tail
	tableAt   = codeBase + 0xa00  // jumps where rax says
	byTableAt = codeBase + 0xb00  // calls that
	memoryAt  = codeBase + 0xc00  // calls what a pointer in memory holds
	restoreAt = codeBase + 0xd00  // a signal handler's way back
	pushesAt  = codeBase + 0xe00  // saves rbp and rbx, and calls leaf
	plainAt   = codeBase + 0xf00  // nops
	allocAt   = codeBase + 0x1000 // has as much on its stack as rax says, and calls leaf
	byAllocAt = codeBase + 0x1100 // calls that
	switchAt  = codeBase + 0x1200 // calls leaf in a case of a switch
)

// What the functions return to: the address behind their call.
const (
	midRA     = midAt + 9
	outerRA   = outerAt + 9
	otherRA   = otherAt + 9
	pointerRA = pointerAt + 6
	byStubRA  = byStubAt + 9
	byTailRA  = byTailAt + 9
	byTableRA = byTableAt + 9
	memoryRA  = memoryAt + 10
	pushesRA  = pushesAt + 7
	allocRA   = allocAt + 12
	byAllocRA = byAllocAt + 9
	switchRA  = switchAt + 11
)

// image is the code of the synthetic image.
var image64 = func() []byte {
	code := make([]byte, codeSize)
	for i := range code {
		code[i] = 0xcc
	}
	put := func(at uint64, parts ...[]byte) {
		for _, p := range parts {
			at += uint64(copy(code[at-codeBase:], p))
		}
	}
	rel := func(opcode byte, at, to uint64) []byte {
		return binary.LittleEndian.AppendUint32([]byte{opcode}, uint32(to-at-5))
	}
	frame := func(at uint64, size byte, to uint64) {
		put(at, []byte{0x48, 0x83, 0xec, size}, rel(0xe8, at+4, to), []byte{0x48, 0x83, 0xc4, size, 0xc3})
	}
	put(leafAt, []byte{0x90, 0xc3})
	frame(midAt, 24, leafAt)
	frame(outerAt, 40, midAt)
	frame(otherAt, 8, other2At)
	put(other2At, []byte{0x31, 0xc0, 0xc3})
	put(pointerAt, []byte{0x48, 0x83, 0xec, 8, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3})
	put(stubAt, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}, binary.LittleEndian.AppendUint32(nil, dataBase-stubAt-10))
	frame(byStubAt, 8, stubAt)
	put(tailAt, rel(0xe9, tailAt, leafAt))
	frame(byTailAt, 8, tailAt)
	put(tableAt, []byte{0xff, 0xe0})
	frame(byTableAt, 8, tableAt)
	put(memoryAt, []byte{0x48, 0x83, 0xec, 8, 0xff, 0x15}, binary.LittleEndian.AppendUint32(nil, dataBase+8-memoryAt-10), []byte{0x48, 0x83, 0xc4, 8, 0xc3})
	put(restoreAt, []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05})
	put(pushesAt, []byte{0x55, 0x53}, rel(0xe8, pushesAt+2, leafAt), []byte{0x5b, 0x5d, 0xc3})
	put(plainAt, []byte{0x90, 0x90, 0x90, 0x90, 0xc3})
	// push %rbp; mov %rsp,%rbp; sub %rax,%rsp; call leaf; leave; ret
	put(allocAt, []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4}, rel(0xe8, allocAt+7, leafAt), []byte{0xc9, 0xc3})
	frame(byAllocAt, 8, allocAt)
	// sub $24,%rsp; jmp *%rax; call leaf; add $24,%rsp; ret
	put(switchAt, []byte{0x48, 0x83, 0xec, 24, 0xff, 0xe0}, rel(0xe8, switchAt+6, leafAt), []byte{0x48, 0x83, 0xc4, 24, 0xc3})
	return code
}()

// pointers are the words at dataBase: where the stub leads, and what memory's call
// goes through.
func pointers(stub, called uint64) unwind.Window {
	return unwind.Window{Addr: dataBase, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, stub), called)}
}

var delta64 = unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux", Added: []unwind.Image{
	{ID: 1, Path: "/bin/prog", Executable: []unwind.Range{{Start: codeBase, End: codeBase + codeSize}}}}}

// frame is a frame to be left, with all memory there is.
type frame struct {
	testing.TB
	request unwind.WalkRequest
	delta   unwind.ImageDelta
	yield   unwind.RangeSet
}

// at makes a frame in leaf, stopped at its first instruction, whose stack has
// these words from SP on.
func at(t testing.TB, words ...uint64) *frame {
	t.Helper()
	m, err := stackasm.New(unwind.AMD64, stackBase).Word(words...).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	f := &frame{TB: t, delta: delta64, request: unwind.WalkRequest{Arch: unwind.AMD64, Kind: unwind.KindInstruction, MaxFrames: 1,
		Segment: m.Segment(unwind.SegmentThread),
		Stack:   append(m.Windows(), unwind.Window{Addr: codeBase, Data: image64}, pointers(leafAt, leafAt))}}
	f.request.Registers.Set(unwind.AMD64RIP, leafAt)
	f.request.Registers.Set(unwind.AMD64RSP, stackBase)
	return f
}

func (f *frame) set(r unwind.Register, v uint64) *frame {
	f.request.Registers.Set(r, v)
	return f
}

func (f *frame) returnTo(pc uint64) *frame {
	f.request.Kind = unwind.KindReturn
	return f.set(f.request.Arch.PC(), pc)
}

func (f *frame) walk() unwind.WalkResult {
	f.Helper()
	p := New()
	if _, err := p.Update(context.Background(), f.delta); err != nil {
		f.Fatal(err)
	}
	if err := p.Yield(context.Background(), f.yield); err != nil {
		f.Fatal(err)
	}
	results, err := p.Walk(context.Background(), []unwind.WalkRequest{f.request})
	if err != nil || len(results) != 1 {
		f.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
}

// finds walks, and compares the first caller, its SP in words above the frame's
// and a part of its note. It returns the step.
func (f *frame) finds(ra, words uint64, note string) unwind.Step {
	f.Helper()
	r := f.walk()
	if len(r.Steps) == 0 {
		f.Fatalf("no steps; stop %v %q need %#x", r.Stop, r.Reason, r.Need)
	}
	s := r.Steps[0]
	pc, _ := s.Caller.PC(f.request.Arch)
	sp, _ := s.Caller.SP(f.request.Arch)
	before, _ := f.request.Registers.SP(f.request.Arch)
	if pc != ra || sp != before+words*8 || s.CFA != sp || s.CallerKind != unwind.KindReturn {
		f.Errorf("caller at %#x, SP %#x, CFA %#x; want %#x, SP %#x", pc, sp, s.CFA, ra, before+words*8)
	}
	if s.Trust != unwind.TrustScan || s.Note != note {
		f.Errorf("trust %v, note %q; want a scan's and %q", s.Trust, s.Note, note)
	}
	return s
}

// findsNone walks, and compares why no caller was found.
func (f *frame) findsNone(stop unwind.WalkStop, reason string) {
	f.Helper()
	r := f.walk()
	if len(r.Steps) != 0 || r.Stop != stop || !strings.Contains(r.Reason, reason) {
		f.Errorf("%d steps, stop %v %q, need %#x; want none, %v %q", len(r.Steps), r.Stop, r.Reason, r.Need, stop, reason)
		for _, s := range r.Steps {
			pc, _ := s.Caller.PC(f.request.Arch)
			f.Logf("caller %#x: %s %s", pc, s.Rule, s.Note)
		}
	}
}
