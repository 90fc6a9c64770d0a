package sframe

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestR9ReturnAtNextFunction: a call that never returns may be the last
// instruction of its function. The return address is the next function's first
// byte, and the rules are those of the function before.
func TestR9ReturnAtNextFunction(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, rows{Rows: "00 03 20", Count: 1}, rows{Rows: "00 03 40", Count: 1}, outermost))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(function(2) + 8).Pad(24).Word(function(2) + 9).Pad(64)
	regs := stackasm.Values{"rip": num(function(1)), "rsp": at("sp")}
	r := walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, regs), []uint64{function(2) + 8}, unwind.StopEnd, "undefined")
	if len(r.Steps) == 1 && r.Steps[0].Rule != "cfa=rsp+32; ra=[cfa-8]; fp=unchanged" {
		t.Errorf("rule %q", r.Steps[0].Rule)
	}
	// The same address of an instruction is the next function's.
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, regs), []uint64{function(2) + 9}, unwind.StopEnd, "undefined")
}

// TestR9SignalFrame: what a signal's frame returns to was interrupted, here at
// its function's first instruction; and the frame is a signal's though the byte
// before its address is another function's.
func TestR9SignalFrame(t *testing.T) {
	image := program(unwind.ARM64, rows{Rows: "00 07 20 f8 f0", Count: 1},
		rows{Rows: "00 27 1001 f8ff f0ff", Count: 1, Info: sframetest.Signal}, rows{Rows: "00 07 40 f8 f0", Count: 1}, outermost)
	p := with(t, unwind.ARM64, 0, image)
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(16).Word(0x1, function(1)).
		Pad(256).Word(0x2, function(2)).Pad(48).Word(0x3, function(3)+8).Pad(64)
	r := walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, stackasm.Values{"pc": num(inFirst), "sp": at("sp"), "x19": num(7)}),
		[]uint64{function(1), function(2), function(3) + 8}, unwind.StopEnd, "undefined")
	if len(r.Steps) != 3 || r.Steps[1].CallerKind != unwind.KindInstruction || r.Steps[2].CallerKind != unwind.KindReturn {
		t.Errorf("%+v", r.Steps)
	}
	for i, step := range r.Steps {
		fp, _ := step.Caller.FP(unwind.ARM64)
		if step.Caller.Len() != 3 || fp != uint64(i+1) { // nothing is known of x19
			t.Errorf("step %d: %d registers, fp %#x", i, step.Caller.Len(), fp)
		}
	}
}

// TestSignalWithoutRule: the table knows that a frame is a signal's and not
// where it has put the registers.
func TestSignalWithoutRule(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, rows{Rows: "00 03 20", Count: 1}, rows{Info: sframetest.Signal}))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(function(1)).Pad(64)
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")}),
		[]uint64{function(1)}, unwind.StopNoRule, "is a signal's, and SFrame has no rule for it")
}

// TestR10LinkRegister: a leaf keeps its return address in the link register and
// its caller's stack pointer. No one above it may.
func TestR10LinkRegister(t *testing.T) {
	for _, tt := range []struct {
		arch unwind.Arch
		leaf string
		next string
		bias int
		lr   string
	}{
		{unwind.ARM64, "00 03 00", "00 07 20 f8 f0", 0, "x30"},
		{unwind.S390X, "00 03 00", "00 05 04 f8", 160, "r14"},
	} {
		p := with(t, tt.arch, 0, program(tt.arch, rows{Rows: tt.leaf, Count: 1}, rows{Rows: tt.next, Count: 1}, outermost))
		s := stackasm.New(tt.arch, stackBase).Mark("sp").Pad(tt.bias).Pad(24).Word(function(2) + 8).Pad(64)
		name := tt.arch.RegisterName
		regs := stackasm.Values{name(tt.arch.PC()): num(inFirst), name(tt.arch.SP()): at("sp"), tt.lr: num(function(1) + 8)}
		r := walktest.Wants(t, p, walktest.Request(t, tt.arch, unwind.KindInstruction, s, regs),
			[]uint64{function(1) + 8, function(2) + 8}, unwind.StopEnd, "undefined")
		for i := range r.Steps {
			if lr, ok := r.Steps[i].Caller.Get(tt.arch.LR()); ok {
				t.Errorf("step %d: %s is %#x", i, tt.lr, lr)
			}
		}
		walktest.Wants(t, p, walktest.Request(t, tt.arch, unwind.KindReturn, s, regs), nil, unwind.StopNoRule, "the return address needs "+tt.lr+", which is not known")
		delete(regs, tt.lr)
		walktest.Wants(t, p, walktest.Request(t, tt.arch, unwind.KindInstruction, s, regs), nil, unwind.StopNoRule, "needs "+tt.lr)
		regs[tt.lr] = num(inFirst)
		walktest.Wants(t, p, walktest.Request(t, tt.arch, unwind.KindInstruction, s, regs), nil, unwind.StopBroken, "not above")
	}
}

// TestOtherRegisters: a rule by r10 or rdx holds in the innermost frame. In a
// caller what they hold is not known, since SFrame does not say who changes them.
func TestOtherRegisters(t *testing.T) {
	flex := func(text string) rows { return rows{Rows: text, Count: 1, Info2: sframetest.Flexible} }
	image := program(unwind.AMD64, flex("00 04 51 00"), flex("00 08 39 00 09 00"), rows{Rows: "00 03 20", Count: 1}, outermost)
	p := with(t, unwind.AMD64, 0, image)
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(24).Word(function(0)+8, function(3)+8).Mark("cfa").Pad(64)
	regs := stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "r10": at("cfa"), "rdx": num(function(3) + 9)}
	request := func() unwind.WalkRequest { return walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, regs) }
	walktest.Wants(t, p, request(), []uint64{function(3) + 8}, unwind.StopEnd, "undefined")
	regs["rip"] = num(function(1) + 8)
	regs["rsp"] = at("cfa")
	walktest.Wants(t, p, request(), nil, unwind.StopBroken, "not above") // a return address in rdx lies on no stack: R10
	regs["rip"], regs["rsp"] = num(function(2)+8), at("sp")
	walktest.Wants(t, p, request(), []uint64{function(0) + 8}, unwind.StopNoRule, "the CFA needs r10, which is not known")
}

// TestRestoredFramePointer: gcc's rules for a realigned function read the frame
// pointer relative to itself even behind the instruction that restores it.
func TestRestoredFramePointer(t *testing.T) {
	p := with(t, unwind.AMD64, 0, program(unwind.AMD64, rows{Rows: "00 0a 51 00 00 33 00", Count: 1, Info2: sframetest.Flexible}, outermost))
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Pad(16).Mark("own").Word(0x77).Pad(32).Word(function(1) + 8).Mark("cfa").Pad(64).Mark("callers").Word(0x88)
	for fp, want := range map[string]uint64{"own": 0x77, "callers": stackBase + 128} {
		r := walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s,
			stackasm.Values{"rip": num(inFirst), "rsp": at("sp"), "rbp": at(fp), "r10": at("cfa")}), []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
		if got, _ := r.Steps[0].Caller.FP(unwind.AMD64); got != want {
			t.Errorf("rbp %s: %#x, want %#x", fp, got, want)
		}
	}
}

// TestR11PAC: a signed return address loses its code, and nothing else does.
func TestR11PAC(t *testing.T) {
	const mask, code = 0x007f_0000_0000_0000, 0x0035_0000_0000_0000
	for _, key := range []uint8{0, sframetest.KeyB} {
		p := with(t, unwind.ARM64, mask, program(unwind.ARM64, rows{Rows: "00 87 20 f8 f0", Count: 1, Info: key}, outermost))
		s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(16).Word(code|9, function(1)+8|code).Pad(64)
		r := walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, stackasm.Values{"pc": num(inFirst), "sp": at("sp")}),
			[]uint64{function(1) + 8}, unwind.StopEnd, "undefined")
		if fp, _ := r.Steps[0].Caller.FP(unwind.ARM64); fp != code|9 {
			t.Errorf("x29 %#x", fp)
		}
	}
}

// TestBigEndian: arm64 in the other byte order, told by the table.
func TestBigEndian(t *testing.T) {
	b := sframetest.For(3, unwind.ARM64, tableBase)
	b.Big = true
	b.Add(rows{Start: function(0), Size: funcSize, Rows: "00 07 20 f8 f0", Count: 1}).Add(rows{Start: function(1), Size: funcSize})
	image := program(unwind.ARM64)
	image.Sections[0].Data = b.Bytes()
	p := with(t, unwind.ARM64, 0, image)
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(16).Bytes(0, 0, 0, 0, 0, 0, 0, 9).Bytes(0, 0, 0, 0, 0, 0x40, 0x01, 0x08).Pad(64)
	walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindReturn, s, stackasm.Values{"pc": num(inFirst), "sp": at("sp")}),
		[]uint64{function(1) + 8}, unwind.StopEnd, "undefined")
}

// TestPLTGot: a step by a corrected rule says so; without the code there is none.
func TestPLTGot(t *testing.T) {
	image := program(unwind.AMD64, rows{Rows: "00 03 10", Count: 1, Info: sframetest.Mask, Block: 8}, outermost)
	entry := append(sframetest.Hex("ff 25 01 02 03 04"), 0x66, 0x90)
	known := image
	known.Sections = append(known.Sections[:1:1], unwind.Section{Name: sframe.SectionPLTGot, Addr: codeBase, Data: []byte(strings.Repeat(string(entry), funcSize/8))})
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(function(1)+8, function(1)+9).Pad(64)
	request := walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")})
	r := walktest.Wants(t, with(t, unwind.AMD64, 0, known), request, []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
	if len(r.Steps) != 1 || r.Steps[0].Note != noteCorrected {
		t.Errorf("%+v", r.Steps)
	}
	p := New()
	reports, err := p.Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{image}})
	if err != nil || !strings.Contains(reports[0].Problem, ".plt.got") || reports[0].Coverage.Contains(inFirst) {
		t.Errorf("%v, %+v", err, reports)
	}
}

// TestImages: where the table is found, and what is said of one that is damaged.
func TestImages(t *testing.T) {
	good := program(unwind.AMD64, rows{Rows: "00 03 20", Count: 1}).Sections[0]
	damaged := good
	damaged.Data = append([]byte{}, good.Data...)
	damaged.Data[2] = 9
	segment := good
	segment.Name, segment.Data = sectionSegment, append(append([]byte{}, good.Data...), "\x00\x00what follows"...)
	unloaded := good
	unloaded.Addr = 0
	tests := []struct {
		name     string
		arch     unwind.Arch
		sections []unwind.Section
		covered  bool
		problem  string
	}{
		{"section", unwind.AMD64, []unwind.Section{good}, true, ""},
		{"no section headers", unwind.AMD64, []unwind.Section{segment}, true, ""},
		{"both", unwind.AMD64, []unwind.Section{segment, good}, true, ""},
		{"none", unwind.AMD64, nil, false, ""},
		{"not loaded", unwind.AMD64, []unwind.Section{unloaded}, false, "it is not loaded"},
		{"damaged", unwind.AMD64, []unwind.Section{damaged}, false, ".sframe+0x2: sfp_version: version 9 is not known"},
		{"another architecture's", unwind.ARM64, []unwind.Section{good}, false, "the table is for amd64, the program for arm64"},
		{"an architecture without SFrame", unwind.I386, []unwind.Section{good}, false, ""},
	}
	for _, tt := range tests {
		reports, err := New().Update(context.Background(), unwind.ImageDelta{Arch: tt.arch, Added: []unwind.Image{
			{ID: 1, Sections: tt.sections, Executable: []unwind.Range{{Start: codeBase, End: codeBase + 0x10000}}}}})
		if err != nil || reports[0].Coverage.Contains(inFirst) != tt.covered || !strings.Contains(reports[0].Problem, tt.problem) ||
			(reports[0].Problem == "") != (tt.problem == "") {
			t.Errorf("%s: %v %+v, want covered %v, %q", tt.name, err, reports, tt.covered, tt.problem)
		}
	}
}

// FuzzWalk walks random stacks by random tables.
func FuzzWalk(f *testing.F) {
	for i, arch := range arches {
		image, r, _ := deep(f, arch, 5)
		sp, _ := r.Registers.SP(arch)
		f.Add(image.Sections[0].Data, r.Stack[0].Data, uint64(inFirst), sp, sp+64, uint8(i))
	}
	f.Fuzz(func(t *testing.T, table, stack []byte, pc, sp, fp uint64, flags uint8) {
		arch := arches[int(flags&3)%len(arches)]
		p := New()
		reports, err := p.Update(context.Background(), unwind.ImageDelta{Arch: arch, PACMask: fp &^ (1 << 55), Added: []unwind.Image{
			{ID: 1, Sections: []unwind.Section{{Name: sframe.SectionName, Addr: tableBase, Data: table}}}}})
		if err != nil {
			t.Fatal(err)
		}
		r := unwind.WalkRequest{Arch: arch, Kind: unwind.PCKind(flags >> 2 & 1), MaxFrames: 64, AllRegisters: flags&8 != 0,
			Stack: unwind.Windows{{Addr: stackBase, Data: stack}}}
		if flags&16 != 0 {
			r.Segment = unwind.Segment{Low: stackBase, High: stackBase + uint64(len(stack))}
		}
		for reg := range unwind.Register(33) {
			r.Registers.Set(reg, fp+uint64(reg))
		}
		r.Registers.Set(arch.PC(), pc)
		r.Registers.Set(arch.SP(), sp)
		r.Registers.Set(arch.FP(), fp)
		results, err := p.Walk(context.Background(), []unwind.WalkRequest{r})
		if err != nil {
			t.Fatal(err)
		}
		kind := r.Kind
		for i, step := range results[0].Steps {
			now, ok := step.Caller.SP(arch)
			_, ok2 := step.Caller.PC(arch)
			if !ok || !ok2 || step.Trust != unwind.TrustCFI || !strings.HasPrefix(step.Rule, "cfa=") {
				t.Fatalf("step %d: %+v", i, step)
			}
			leaf := kind == unwind.KindInstruction && arch.LR() != unwind.NoRegister
			if step.CallerKind == unwind.KindReturn && (now < sp || now == sp && !leaf) {
				t.Fatalf("step %d: SP %#x after %#x", i, now, sp)
			}
			if i == 0 && !reports[0].Coverage.Contains(uint64(unwind.Code(pc, kind).Lookup(arch))) && !reports[0].Coverage.Contains(pc) {
				t.Fatalf("step from %#x, which %#x does not cover", pc, reports[0].Coverage)
			}
			sp, kind = now, step.CallerKind
		}
	})
}
