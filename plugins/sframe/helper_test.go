package sframe

import (
	"fmt"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const (
	stackBase = 0x7ffd_0000_0000
	codeBase  = 0x40_0000
	tableBase = 0x50_0000
	funcSize  = 0x100
	inFirst   = codeBase + 0x50
)

// at and num shorten register files.
var (
	at  = stackasm.At
	num = stackasm.Num
)

func function(n int) uint64 { return codeBase + uint64(n)*funcSize }

// rows is a function of a program: its rows and what its entry says else.
type rows = sframetest.Func

// outermost ends every stack.
var outermost = rows{}

// program makes an image of version 3 whose function n is at codeBase +
// n*funcSize.
func program(arch unwind.Arch, functions ...rows) unwind.Image {
	b := sframetest.For(3, arch, tableBase)
	for i, f := range functions {
		f.Start, f.Size = function(i), funcSize
		b.Add(f)
	}
	return unwind.Image{ID: 1, Path: "/usr/lib/libprog.so",
		Sections:   []unwind.Section{{Name: sframe.SectionName, Addr: tableBase, Data: b.Bytes()}},
		Executable: []unwind.Range{{Start: codeBase, End: codeBase + 0x10000}}}
}

// with returns an unwinder that knows an image without problems.
func with(t testing.TB, arch unwind.Arch, mask uint64, images ...unwind.Image) *tablewalk.Unwinder {
	t.Helper()
	p := New()
	walktest.With(t, p, arch, mask, images...)
	return p
}

// deepProgram has function 0, whose frame is found by its frame pointer,
// functions 1 and 2, which have frames of 32 and 64 bytes, and their outermost
// caller, function 3. On s390x a frame begins 160 bytes above the stack pointer,
// in offsets of 8 bytes.
func deepProgram(arch unwind.Arch) unwind.Image {
	switch arch {
	case unwind.AMD64:
		return program(arch, rows{Rows: "00 04 10 f0", Count: 1}, rows{Rows: "00 03 20", Count: 1}, rows{Rows: "00 03 40", Count: 1}, outermost)
	case unwind.ARM64:
		return program(arch, rows{Rows: "00 06 10 f8 f0", Count: 1}, rows{Rows: "00 07 20 f8 e0", Count: 1}, rows{Rows: "00 07 40 f8 e0", Count: 1}, outermost)
	}
	return program(arch, rows{Rows: "00 06 02 f8 f0", Count: 1}, rows{Rows: "00 05 04 f8", Count: 1}, rows{Rows: "00 05 08 f8", Count: 1}, outermost)
}

// deep makes a stack of n calls by the functions of deepProgram.
func deep(tb testing.TB, arch unwind.Arch, n int) (unwind.Image, unwind.WalkRequest, []uint64) {
	tb.Helper()
	// On s390x CFAs lie this far above where they do on others.
	bias := 0
	if arch == unwind.S390X {
		bias = 160
	}
	s := stackasm.New(arch, stackBase).Mark("sp").Pad(32 + bias)
	var callers []uint64
	fp := 0
	mark := func() { s.Define(fmt.Sprint("fp", fp), s.Here()-uint64(bias)); fp++ }
	for i := range n {
		next := (i + 1) % 3
		if i == n-1 {
			next = 3
		}
		pc := function(next) + 0x40 + uint64(i%8)*4
		callers = append(callers, pc)
		switch i % 3 {
		case 0: // the frame pointer's place, and the return address's
			mark()
			if i+3 < n {
				s.Ref(fmt.Sprint("fp", fp))
			} else {
				s.Word(0x1234) // the outermost caller's
			}
			s.Word(pc)
		case 1: // a frame of 32 bytes
			if arch == unwind.ARM64 {
				s.Ref(fmt.Sprint("fp", fp)).Word(8, uint64(i), pc)
			} else {
				s.Word(7, 8, uint64(i), pc)
			}
		case 2: // a frame of 64 bytes
			s.Word(1, 2, 3, 4)
			if arch == unwind.ARM64 {
				s.Ref(fmt.Sprint("fp", fp))
			} else {
				s.Word(5)
			}
			s.Word(6, 7, pc)
		}
		if next == 0 {
			s.Pad(48) // its frame below the record
		}
	}
	mark() // of what never comes
	s.Pad(64)
	regs := stackasm.Values{arch.RegisterName(arch.PC()): num(inFirst), arch.RegisterName(arch.SP()): at("sp"), arch.RegisterName(arch.FP()): at("fp0")}
	r := walktest.Request(tb, arch, unwind.KindReturn, s, regs)
	r.MaxFrames = n + 10
	return deepProgram(arch), r, callers
}
