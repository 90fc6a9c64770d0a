package export_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

func ret(addr uint64) unwind.CodeAddr  { return unwind.Code(addr, unwind.KindReturn) }
func inst(addr uint64) unwind.CodeAddr { return unwind.Code(addr, unwind.KindInstruction) }

// mixed is a stack of Go, C and a signal handler, with an inlined frame at its
// top and a candidate that was not believed.
func mixed() unwind.Stack {
	return unwind.Stack{
		Thread: 4711, Goroutine: 1, Stop: unwind.End, Reason: "runtime.goexit",
		Notes: []string{"/tmp/gone.so: no unwind information"},
		Frames: []unwind.Frame{
			{PC: inst(0x401136), Trust: unwind.TrustContext, Strategy: "registers", Function: "main.add", File: "/src/app/main.go", Line: 7, Inlined: true, DelveFrame: 0},
			{PC: inst(0x401136), Trust: unwind.TrustContext, Strategy: "registers", Function: "main.handler", File: "/src/app/main.go", Line: 12, CFA: 0x7ffe00, DelveFrame: 1},
			{PC: ret(0x7f1b2e64cfba), Trust: unwind.TrustCFI, Strategy: "dwarfcfi", Image: "/usr/lib/libc.so.6", Offset: 0x29fba, CFA: 0x7ffe40, Segment: 1, DelveFrame: -1, Rule: "cfa=rsp+16; ra=[cfa-8]"},
			{
				PC: inst(0x7f1b2e700010), Trust: unwind.TrustFramePointer, Strategy: "fpwalk", Function: "std::map<int, int>::find", File: "map.h", Line: 3, Segment: 1, DelveFrame: -1,
				Rejected: []unwind.Rejection{{Strategy: "delve", Reason: "outside every executable mapping", PC: 0x1234, CFA: 0x7ffe80}, {Strategy: "scan", Reason: "below SP"}},
				Notes:    []string{"interrupted by SIGSEGV"},
			},
			{PC: ret(0x5), Trust: unwind.TrustScan, Strategy: "scan", Segment: -1, DelveFrame: -1},
			{PC: ret(0x46c1e1), Trust: unwind.TrustCFI, Strategy: "gopclntab", Function: "runtime.goexit", Image: "/tmp/prog", Offset: 0x6c1e1, Segment: 0, DelveFrame: 2},
		},
	}
}

func cut() unwind.Stack {
	return unwind.Stack{
		Thread: 7, Stop: unwind.Truncated, Reason: "limit of 1 frame", DepthLimited: true,
		Frames: []unwind.Frame{{PC: ret(0x1000), DelveFrame: -1}},
	}
}

const mixedText = `goroutine 1, thread 4711
  #  trust          strategy   pc              function                                where
  0  context        registers  0x401136        main.add [inlined]                      app/main.go:7
  1  context        registers  0x401136        main.handler                            app/main.go:12
      ---- another stack ----
  2  cfi            dwarfcfi   0x7f1b2e64cfba  libc.so.6+0x29fba
  3  frame-pointer  fpwalk     0x7f1b2e700010  std::map<int, int>::find [interrupted]  map.h:3
        note: interrupted by SIGSEGV
        rejected: delve pc=0x1234 cfa=0x7ffe80: outside every executable mapping
        rejected: scan: below SP
  4  scan           scan       0x5             ?
  5  cfi            gopclntab  0x46c1e1        runtime.goexit                          prog+0x6c1e1
  note: /tmp/gone.so: no unwind information
  end: runtime.goexit

thread 7
  #  trust  strategy  pc      function  where
  0  none             0x1000  ?
  truncated: limit of 1 frame
`

func text(t *testing.T, o export.TextOptions, stacks ...unwind.Stack) string {
	t.Helper()
	var b bytes.Buffer
	if err := export.Text(&b, slices.Values(stacks), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	if got := text(t, export.TextOptions{}, mixed(), cut()); got != mixedText {
		t.Errorf("got\n%s\nwant\n%s", got, mixedText)
	}
}

// TestTextGroup: one row stands for the frames of a group, with what is said of each, once.
func TestTextGroup(t *testing.T) {
	const group = "wazero: generated code, 3 frames without names"
	frame := func(pc uint64, trust unwind.Trust, note string) unwind.Frame {
		return unwind.Frame{PC: ret(pc), Trust: trust, Strategy: "fpwalk", Group: group, Notes: []string{note}, Rule: "cfa=rbp+16", DelveFrame: -1}
	}
	s := unwind.Stack{Thread: 1, Stop: unwind.End, Frames: []unwind.Frame{
		frame(0x1000, unwind.TrustFramePointer, "first"), frame(0x2000, unwind.TrustScan, "other"), frame(0x3000, unwind.TrustFramePointer, "other"),
		{PC: ret(0x4000), Trust: unwind.TrustCFI, Strategy: "gopclntab", Function: "main.main", DelveFrame: -1},
	}}
	want := `thread 1
    #  trust  strategy   pc      function                                        where
  0-2  scan   fpwalk     0x1000  wazero: generated code, 3 frames without names
        note: first
        note: other
    3  cfi    gopclntab  0x4000  main.main
  end
`
	if got := text(t, export.TextOptions{}, s); !slices.Equal(strings.Fields(got), strings.Fields(want)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(t, export.TextOptions{Verbose: true}, s); strings.Count(got, group) != 3 || strings.Count(got, "rule: cfa=rbp+16") != 3 {
		t.Errorf("got\n%s", got)
	}
}

func TestTextOptions(t *testing.T) {
	o := export.TextOptions{Verbose: true, SegmentName: func(_ *unwind.Stack, segment int) string {
		return []string{"goroutine stack", "system\x1b[2J stack"}[segment]
	}}
	got := text(t, o, mixed())
	for _, want := range []string{"        rule: cfa=rsp+16; ra=[cfa-8]\n", "      ---- system\\x1b[2J stack ----\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// Colours change nothing but colours.
	colored := text(t, export.TextOptions{Color: true}, mixed(), cut())
	for _, code := range []string{"0", "1", "2", "31", "32", "33"} {
		if !strings.Contains(colored, "\x1b["+code+"m") {
			t.Errorf("no colour %s", code)
		}
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	if colored != mixedText {
		t.Errorf("without colours\n%s\nwant\n%s", colored, mixedText)
	}
	if export.Color(new(bytes.Buffer)) {
		t.Error("a buffer has no colours")
	}
}

// A target's names do not reach the terminal as control characters.
func TestTextOfHostileNames(t *testing.T) {
	bad := "\x1b]0;owned\a\u202e\xff\n"
	got := text(t, export.TextOptions{}, unwind.Stack{Reason: bad, Notes: []string{bad}, Frames: []unwind.Frame{{
		Function: bad, File: bad, Line: 1, Strategy: bad, Notes: []string{bad}, Rejected: []unwind.Rejection{{Strategy: bad, Reason: bad}},
	}, {Image: bad, Inlined: true}}})
	if strings.ContainsAny(got, "\x1b\a\u202e") || !utf8.ValidString(got) || !strings.Contains(got, `\x1b]0;owned\a\u202e\xff\n`) {
		t.Errorf("%q", got)
	}
	if got := printable.Text("Grüße ⟨T⟩"); got != "Grüße ⟨T⟩" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	for _, stacks := range [][]unwind.Stack{nil, {mixed()}} {
		var b bytes.Buffer
		set := &export.Set{Arch: unwind.AMD64, Stacks: slices.Values(stacks), Registers: true}
		if err := set.Write(&b, "json"); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(b.Bytes(), []byte("\n")) != 1 || !bytes.HasPrefix(b.Bytes(), []byte(`{"stacks":[`)) {
			t.Errorf("not a line: %s", b.Bytes())
		}
		if err := schematest.CheckOutput(schema.Stack, b.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, b.Bytes())
		}
	}
}

func TestFrames(t *testing.T) {
	pc, ra := cbf.PC, cbf.RA
	for _, tt := range []struct {
		stack    unwind.Stack
		want     []cbf.Frame
		complete bool
	}{
		{mixed(), []cbf.Frame{
			{Kind: pc, Address: 0x401136}, {Kind: ra, Address: 0x7f1b2e64cfba}, {Kind: pc, Address: 0x7f1b2e700010},
			{Kind: ra, Address: 5}, {Kind: ra, Address: 0x46c1e1},
		}, true},
		// The innermost frame is pc even where it is a return address: a parked
		// goroutine's.
		{cut(), []cbf.Frame{{Kind: pc, Address: 0x1000}, {Kind: cbf.Truncated}}, false},
		{unwind.Stack{Stop: unwind.End, DepthLimited: true}, []cbf.Frame{{Kind: cbf.Truncated}}, false},
		{unwind.Stack{Stop: unwind.End}, nil, true},
	} {
		if got := export.Frames(&tt.stack); !slices.Equal(got, tt.want) {
			t.Errorf("got %v, want %v", got, tt.want)
		}
		data, err := export.EncodeStack(&tt.stack, cbf.Word64, cbf.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := cbf.Decode(data, cbf.DecodeOptions{Strict: true})
		if err != nil || !slices.Equal(b.Frames, tt.want) || b.Complete != tt.complete {
			t.Errorf("% x: got %v, %v, want %v", data, b, err, tt.want)
		}
		// The end is marked, not merely reached.
		if last := data[len(data)-1]; (last == 0) != tt.complete || last > 1 {
			t.Errorf("% x: last byte", data)
		}
	}
	s := mixed()
	var fe *cbf.FrameError
	if _, err := export.EncodeStack(&s, cbf.Word32, cbf.EncodeOptions{}); !errors.As(err, &fe) {
		t.Errorf("address above 32 bits: %v", err)
	}
}

func images(t *testing.T) *imagemap.ImageMap {
	t.Helper()
	m, err := imagemap.New(imagemap.Word64, "Linux", []imagemap.Image{
		{Base: 0x400000, EndOfText: 0x500000, BuildID: []byte{1, 0}, Path: "/tmp/prog"},
		{Base: 0x7f1b2e623000, EndOfText: 0x7f1b2e7b24ad, Path: "/usr/lib/libc.so.6"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSwift(t *testing.T) {
	stacks := []unwind.Stack{mixed(), cut()}
	var b bytes.Buffer
	if err := export.Swift(&b, unwind.AMD64, slices.Values(stacks), images(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		e, err := envelope.Unmarshal([]byte(line))
		if err != nil || e.Architecture != "x86_64" {
			t.Fatalf("%v, %v", e, err)
		}
		frames, err := cbf.Decode(e.Backtrace, cbf.DecodeOptions{})
		if err != nil || !slices.Equal(frames.Frames, export.Frames(&stacks[i])) {
			t.Errorf("%v, %v", frames, err)
		}
		m, err := imagemap.Decode(e.ImageMap, imagemap.DecodeOptions{})
		if err != nil || !m.Equal(images(t)) {
			t.Errorf("%v, %v", m, err)
		}
	}
	b.Reset()
	if err := export.Swift(&b, unwind.S390X, slices.Values(stacks[1:]), nil); err != nil || strings.Contains(b.String(), "imageMap") || !strings.Contains(b.String(), "s390x") {
		t.Errorf("%v %s", err, b.String())
	}
}

// TestNames: short names are for tables on a terminal; a file has them whole.
func TestNames(t *testing.T) {
	stack := unwind.Stack{Frames: []unwind.Frame{{Function: "void std::sort<int*>(int*, int*)"}}}
	for style, want := range map[names.Style]bool{names.StyleShort: true, names.StyleFull: false, "": false} {
		var b strings.Builder
		set := export.Set{Arch: unwind.AMD64, Stacks: slices.Values([]unwind.Stack{stack}), Names: style}
		if err := set.Write(&b, "text"); err != nil {
			t.Fatal(err)
		}
		if short := !strings.Contains(b.String(), "std::sort<int*>(int*, int*)"); short != want || !strings.Contains(b.String(), "std::sort") {
			t.Errorf("names %q:\n%s", style, b.String())
		}
	}
}

// TestEvidence: what was not believed is shown where the stack has no end or a guess, and else when it is asked for.
func TestEvidence(t *testing.T) {
	of := func(stop unwind.StopKind, trust unwind.Trust) unwind.Stack {
		return unwind.Stack{Stop: stop, Frames: []unwind.Frame{
			{PC: ret(0x1000), Trust: trust, DelveFrame: -1, Segment: -1, Rejected: []unwind.Rejection{{Strategy: "fpwalk", Reason: "not believed"}}},
		}}
	}
	for _, tc := range []struct {
		stack unwind.Stack
		o     export.TextOptions
		want  bool
	}{
		{of(unwind.End, unwind.TrustCFI), export.TextOptions{}, false},
		{of(unwind.End, unwind.TrustCFI), export.TextOptions{Evidence: true}, true},
		{of(unwind.Truncated, unwind.TrustCFI), export.TextOptions{}, true},
		{of(unwind.End, unwind.TrustScan), export.TextOptions{}, true},
	} {
		if got := text(t, tc.o, tc.stack); strings.Contains(got, "not believed") != tc.want {
			t.Errorf("%+v:\n%s", tc.o, got)
		}
	}
}
