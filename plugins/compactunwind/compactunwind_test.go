package compactunwind

import (
	"debug/macho"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/conformance"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const (
	header    = 0x1_0000_0000
	stackBase = 0x7ffd_0000_0000
)

var (
	at  = stackasm.At
	num = stackasm.Num
)

// library returns a library of package table's test data as the host describes it,
// loaded at header.
func library(t testing.TB, name string) unwind.Image {
	t.Helper()
	f, err := macho.Open(filepath.Join("table", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := unwind.Image{ID: 1, Path: "/usr/lib/" + name, Base: header}
	add := func(name string, addr uint64, r interface{ Data() ([]byte, error) }) {
		data, err := r.Data()
		if err != nil {
			t.Fatal(err)
		}
		in.Sections = append(in.Sections, unwind.Section{Name: name, Addr: addr, Data: data})
	}
	for _, s := range f.Sections {
		switch s.Name {
		case sectionInfo, sectionEH, sectionText, sectionStubs, sectionHelper:
			add(s.Name, header+s.Addr, s)
		}
		if s.Name == sectionText {
			in.Executable = []unwind.Range{{Start: header + s.Addr, End: header + s.Addr + s.Size}}
		}
	}
	linkedit := f.Segment("__LINKEDIT")
	for _, load := range f.Loads {
		if raw := load.Raw(); f.ByteOrder.Uint32(raw) == 0x26 {
			data, err := linkedit.Data()
			if err != nil {
				t.Fatal(err)
			}
			off := uint64(f.ByteOrder.Uint32(raw[8:])) - linkedit.Offset
			in.Sections = append(in.Sections, unwind.Section{Name: commandStarts, Data: data[off : off+uint64(f.ByteOrder.Uint32(raw[12:]))]})
		}
	}
	return in
}

// nofp has functions without frame pointers; offsets and encodings are those of
// table/testdata/x86_64-O2-nofp.txt.
const (
	nofp   = "x86_64-O2-nofp.dylib"
	small  = header + 0x3b0 // 0x02020400: 16 bytes, rbx
	middle = header + 0x3d0 // 0x02040802: 32 bytes, two registers
	large  = header + 0x400 // 0x020a1800: 80 bytes, six registers
)

// deep makes a stack of n calls by small, middle and large.
func deep(tb testing.TB, n int) (unwind.Image, unwind.WalkRequest, []uint64) {
	tb.Helper()
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp")
	var callers []uint64
	sizes := []int{16, 32, 80}
	functions := []uint64{small, middle, large}
	for i := range n {
		ra := functions[(i+1)%3] + 0x10
		if i == n-1 {
			ra = 1 // no code: the end (R8)
		} else {
			callers = append(callers, ra)
		}
		s.Pad(sizes[i%3] - 8).Word(ra)
	}
	s.Pad(64)
	r := walktest.Request(tb, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(small + 0x10), "rsp": at("sp")})
	r.MaxFrames = n + 1
	return library(tb, nofp), r, callers
}

func TestConformance(t *testing.T) {
	image, long, callers := deep(t, 40)
	_, short, _ := deep(t, 1)
	conformance.Run(t, func() unwind.Unwinder { return New() }, conformance.Options{
		Images: unwind.ImageDelta{Arch: unwind.AMD64, OS: "darwin", Added: []unwind.Image{image, {ID: 3, Path: "/usr/bin/plain"}}},
		Walks: []conformance.Walk{
			{Name: "40 frames", Request: long, Callers: callers},
			{Name: "1 frame", Request: short},
		},
	})
}

// with returns an unwinder that knows a library.
func with(t testing.TB, arch unwind.Arch, image unwind.Image) *tablewalk.Unwinder {
	t.Helper()
	u := New()
	walktest.With(t, u, arch, 0, image)
	return u
}

// TestR4Entry: at a function's first instruction nothing of its frame is there,
// whatever its encoding says; behind its pushes some of it is.
func TestR4Entry(t *testing.T) {
	u := with(t, unwind.AMD64, library(t, nofp))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(small + 0x10).Pad(8).Word(1).Pad(64)
	r := walktest.Wants(t, u, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": num(large), "rsp": at("sp"), "rbx": num(7), "rbp": num(8)}),
		[]uint64{small + 0x10}, unwind.StopEnd, "below 4096")
	if len(r.Steps) != 1 || r.Steps[0].Trust != unwind.TrustCFI || !strings.HasPrefix(r.Steps[0].Rule, "cfa=rsp+8; ra=[cfa-8]") {
		t.Errorf("%+v", r.Steps)
	}
}

// TestSavedRegisters: a caller's registers come from where its callees saved
// them: lowest address first, as the encoding's permutation has them.
func TestSavedRegisters(t *testing.T) {
	u := with(t, unwind.AMD64, library(t, nofp))
	// large saves rbx r12 r13 r14 r15 rbp from the lowest address on.
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(80-56).Word(1, 2, 3, 4, 5, 6).Word(small + 0x10).Word(9).Word(1).Pad(64)
	r := walktest.Wants(t, u, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(large + 0x20), "rsp": at("sp")}),
		[]uint64{small + 0x10}, unwind.StopEnd, "below 4096")
	if len(r.Steps) != 1 {
		t.Fatal(r)
	}
	for reg, want := range map[unwind.Register]uint64{unwind.AMD64RBX: 1, 12: 2, 13: 3, 14: 4, 15: 5, unwind.AMD64RBP: 6} {
		if got, ok := r.Steps[0].Caller.Get(reg); !ok || got != want {
			t.Errorf("%s is %d, %v; want %d", unwind.AMD64.RegisterName(reg), got, ok, want)
		}
	}
}

// TestR10Frameless: an arm64 function that keeps its return address in a register
// cannot have called anybody.
func TestR10Frameless(t *testing.T) {
	u := with(t, unwind.ARM64, library(t, "arm64-Os-nofp.dylib"))
	leaf := uint64(header + 0x38c) // 0x02000000
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(64)
	regs := stackasm.Values{"pc": num(leaf + 8), "sp": at("sp"), "x30": num(1)}
	walktest.Wants(t, u, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, regs), nil, unwind.StopNoRule, "R10")
	walktest.Wants(t, u, walktest.Request(t, unwind.ARM64, unwind.KindInstruction, s, regs), nil, unwind.StopEnd, "below 4096")
}

// TestStubs: what stubs of imported functions have pushed, instruction by
// instruction, as ld64 writes them.
func TestStubs(t *testing.T) {
	const stubs, helper = header + 0x5000, header + 0x6000
	image := func(name string) unwind.Image {
		in := library(t, name)
		in.Sections = append(in.Sections,
			unwind.Section{Name: sectionStubs, Addr: stubs, Data: make([]byte, 12)},
			unwind.Section{Name: sectionHelper, Addr: helper, Data: make([]byte, 60)})
		return in
	}
	for _, c := range []struct {
		arch   unwind.Arch
		pc     uint64
		pushed int
	}{
		{unwind.AMD64, stubs, 0}, {unwind.AMD64, helper, 8}, {unwind.AMD64, helper + 7, 8}, {unwind.AMD64, helper + 9, 16},
		{unwind.AMD64, helper + 0x10, 0}, {unwind.AMD64, helper + 0x15, 8}, {unwind.AMD64, helper + 0x1a, 0},
		{unwind.ARM64, stubs + 4, 0}, {unwind.ARM64, helper + 8, 0}, {unwind.ARM64, helper + 0xc, 16}, {unwind.ARM64, helper + 0x18, 0},
	} {
		t.Run(fmt.Sprintf("%v-%#x", c.arch, c.pc), func(t *testing.T) {
			s := stackasm.New(c.arch, stackBase).Mark("sp").Pad(c.pushed).Word(1).Pad(64)
			regs, name := stackasm.Values{"rip": num(c.pc), "rsp": at("sp")}, nofp
			if c.arch == unwind.ARM64 {
				regs, name = stackasm.Values{"pc": num(c.pc), "sp": at("sp"), "x30": num(1)}, "arm64-Os-nofp.dylib"
			}
			u := with(t, c.arch, image(name))
			walktest.Wants(t, u, walktest.Request(t, c.arch, unwind.KindInstruction, s, regs), nil, unwind.StopEnd, "below 4096")
			for pc := range regs { // the code before a return address is looked up
				if pc == "rip" || pc == "pc" {
					regs[pc] = num(c.pc + c.arch.InstructionAlignment())
				}
			}
			walktest.Wants(t, u, walktest.Request(t, c.arch, unwind.KindReturn, s, regs), nil, unwind.StopNoRule, "call no one")
		})
	}
}

// TestFunctionStarts: distances in ULEB128, ended by a zero.
func TestFunctionStarts(t *testing.T) {
	starts, err := functionStarts([]byte{0x80, 0x07, 0x10, 0x00, 0x05})
	if err != nil || len(starts) != 2 || starts[0] != 0x380 || starts[1] != 0x390 {
		t.Errorf("%x, %v", starts, err)
	}
	for name, data := range map[string][]byte{
		"cut off":  {0x80},
		"too long": {0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
		"beyond":   {0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, err := functionStarts(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDoubt: without the list of functions an innermost frame has the trust of a
// scanned one.
func TestDoubt(t *testing.T) {
	in := library(t, nofp)
	for i := range in.Sections {
		if in.Sections[i].Name == commandStarts {
			in.Sections[i].Data = nil
		}
	}
	u := with(t, unwind.AMD64, in)
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(8).Word(middle + 0x10).Pad(24).Word(1).Pad(64)
	r := walktest.Wants(t, u, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": num(small + 0x10), "rsp": at("sp")}),
		[]uint64{middle + 0x10}, unwind.StopEnd, "below 4096")
	if len(r.Steps) != 1 || r.Steps[0].Trust != unwind.TrustScan || !strings.Contains(r.Steps[0].Note, "prologue or epilogue") {
		t.Errorf("%+v", r.Steps)
	}
}

// FuzzWalk: whatever the section, the registers and the stack hold, a walk ends,
// with stack pointers that grow.
func FuzzWalk(f *testing.F) {
	image := library(f, nofp)
	for _, s := range image.Sections {
		if s.Name == sectionInfo {
			f.Add(s.Data, []byte{0x80, 0x07}, make([]byte, 256), uint32(0x400), true)
		}
	}
	f.Fuzz(func(t *testing.T, info, starts, stack []byte, pc uint32, instruction bool) {
		in := unwind.Image{ID: 1, Base: header, Executable: image.Executable}
		for _, s := range image.Sections {
			switch s.Name {
			case sectionInfo:
				s.Data = info
			case commandStarts:
				s.Data = starts
			}
			in.Sections = append(in.Sections, s)
		}
		kind := unwind.KindReturn
		if instruction {
			kind = unwind.KindInstruction
		}
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.I386, unwind.ARM64} {
			u := New()
			if _, err := u.Update(t.Context(), unwind.ImageDelta{Arch: arch, Added: []unwind.Image{in}}); err != nil {
				t.Fatal(err)
			}
			var regs unwind.Registers
			regs.Set(arch.PC(), header+uint64(pc))
			regs.Set(arch.SP(), stackBase)
			regs.Set(arch.FP(), stackBase+16)
			if arch == unwind.ARM64 && len(stack) >= 8 {
				regs.Set(arch.LR(), binary.LittleEndian.Uint64(stack))
			}
			r := unwind.WalkRequest{Arch: arch, Registers: regs, Kind: kind, MaxFrames: 50, AllRegisters: true,
				Segment: unwind.Segment{Low: stackBase, High: stackBase + uint64(len(stack)) + 1},
				Stack:   unwind.Windows{{Addr: stackBase, Data: stack}}}
			results, err := u.Walk(t.Context(), []unwind.WalkRequest{r})
			if err != nil {
				t.Fatal(err)
			}
			last := uint64(stackBase)
			for i, s := range results[0].Steps {
				sp, _ := s.Caller.SP(arch)
				if sp < last || sp == last && i > 0 {
					t.Fatalf("%v: step %d: sp %#x after %#x", arch, i, sp, last)
				}
				last = sp
			}
		}
	})
}
