package dwarfcfi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const (
	stackBase = 0x7ffd_0000_0000
	codeBase  = 0x40_0000
	tableBase = 0x50_0000
	funcSize  = 0x100
)

// at and num shorten register files.
var (
	at  = stackasm.At
	num = stackasm.Num
)

// Instructions of call-frame programs.
func defCFA(reg, off byte) []byte { return []byte{0x0c, reg, off} }
func defOffset(off byte) []byte   { return append([]byte{0x0e}, cfitest.ULEB(uint64(off))...) }
func saved(reg, slot byte) []byte { return []byte{0x80 | reg, slot} } // at CFA-8*slot
func advance(n byte) []byte       { return []byte{0x40 | n} }
func undefined(reg byte) []byte   { return []byte{0x07, reg} }
func join(parts ...[]byte) []byte { return []byte(strings.Join(texts(parts), "")) }
func function(n int) uint64       { return codeBase + uint64(n)*funcSize }
func texts(parts [][]byte) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = string(p)
	}
	return out
}

// program makes an image whose function n, at codeBase + n*funcSize, has the
// instructions code[n]. Functions whose instructions begin with 'S' are
// signals' trampolines.
func program(arch unwind.Arch, code ...[]byte) unwind.Image {
	b := cfitest.Builder{Addr: tableBase}
	cie := cfitest.CIE{Aug: "zR", AugData: []byte{0x04}, RA: 16, Code: join(defCFA(7, 8), saved(16, 1))}
	if arch == unwind.ARM64 {
		cie.RA, cie.Code = 30, defCFA(31, 0)
	}
	plain := b.CIE(cie)
	cie.Aug = "zRS"
	signal := b.CIE(cie)
	for i, c := range code {
		at := plain
		if len(c) > 0 && c[0] == 'S' {
			at, c = signal, c[1:]
		}
		b.FDE(at, b.Quad(function(i)), b.Quad(funcSize), []byte{0}, c)
	}
	b.End()
	s := b.Section()
	return unwind.Image{ID: 1, Path: "/usr/lib/libprog.so", Sections: []unwind.Section{{Name: s.Name, Addr: s.Addr, Data: s.Data}},
		Executable: []unwind.Range{{Start: codeBase, End: codeBase + 0x10000}}}
}

// with returns an unwinder that knows an image without problems.
func with(t testing.TB, arch unwind.Arch, mask uint64, images ...unwind.Image) *tablewalk.Unwinder {
	t.Helper()
	p := New()
	walktest.With(t, p, arch, mask, images...)
	return p
}

// deep makes a stack of n calls: of function 0, whose frame is variable and
// found by its frame pointer, of function 1, which saves rbx (x19), and of
// function 2, which has a fixed frame; and their outermost caller, function 3.
func deep(tb testing.TB, arch unwind.Arch, n int) (unwind.Image, unwind.WalkRequest, []uint64) {
	tb.Helper()
	s := stackasm.New(arch, stackBase).Mark("sp").Pad(32)
	regs := stackasm.Values{}
	var image unwind.Image
	if arch == unwind.AMD64 {
		image = program(arch,
			join(defOffset(16), saved(6, 2), []byte{0x0d, 6}),
			join(advance(1), defOffset(32), saved(3, 2)),
			join(advance(4), defOffset(64)),
			undefined(16))
		regs["rip"], regs["rsp"], regs["rbp"], regs["rbx"] = num(function(0)+0x50), at("sp"), at("fp0"), num(99)
	} else {
		image = program(arch,
			join(defCFA(29, 16), saved(29, 2), saved(30, 1)),
			join(advance(4), defOffset(32), saved(30, 1), saved(19, 2)),
			join(advance(4), defOffset(64), saved(30, 1)),
			undefined(30))
		regs["pc"], regs["sp"], regs["x29"], regs["x19"] = num(function(0)+0x50), at("sp"), at("fp0"), num(99)
	}
	var callers []uint64
	fp := 0
	for i := range n {
		next := (i + 1) % 3
		if i == n-1 {
			next = 3
		}
		pc := function(next) + 0x40 + uint64(i%8)*4
		callers = append(callers, pc)
		switch i % 3 {
		case 0:
			s.Mark(fmt.Sprint("fp", fp))
			fp++
			if i+3 < n {
				s.Ref(fmt.Sprint("fp", fp))
			} else {
				s.Word(0x1234) // the outermost caller's
			}
			s.Word(pc)
		case 1:
			s.Word(7, 8, uint64(i), pc)
		case 2:
			s.Word(1, 2, 3, 4, 5, 6, 7, pc)
		}
		if next == 0 {
			s.Pad(48) // its frame below the record
		}
	}
	s.Pad(64)
	r := walktest.Request(tb, arch, unwind.KindReturn, s, regs)
	r.MaxFrames = n + 10
	return image, r, callers
}
