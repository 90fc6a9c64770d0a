package stackjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	. "github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

func TestAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"0x0": 0, "0x1": 1, "0xa": 10, "0x7ffe10": 0x7ffe10, "0xffffffffffffffff": 1<<64 - 1, "0xfedcba9876543210": 0xfedcba9876543210,
	} {
		got, err := parseAddress(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("UnmarshalText(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0x", "x1", "0x00", "0x01", "0X1", "0xA", "0xg", "1", "10", "0x10000000000000000", " 0x1", "0x1 ",
		"-0x1", "0x-1", "0x+1", "0x1_0", "0x１"} {
		got, err := parseAddress(text)
		var bad *jsonread.AddressError
		if !errors.As(err, &bad) || bad.Text != text {
			t.Errorf("UnmarshalText(%q) = %v, %v", text, got, err)
		}
		doc, _ := json.Marshal(text)
		if err := schematest.Check(schema.Stack, fmt.Appendf(nil, `{"stacks":[{"stop":"end","frames":[{"index":0,"kind":"pc","pc":%s,"strategy":"x","trust":"cfi"}]}]}`, doc)); err == nil {
			t.Errorf("the schema takes %q for an address", text)
		}
	}
	_, err := parseAddress(strings.Repeat("0x1", 1000))
	if len(err.Error()) > 200 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

var names = rapid.SampledFrom([]string{"", "main.main", "std::vector<int>::at(unsigned long) const", "a & b", "/src/été.c", "[vdso]"})

func nonEmpty(t *rapid.T, label string) string {
	return names.Filter(func(s string) bool { return s != "" }).Draw(t, label)
}

func drawRegisters(t *rapid.T, arch unwind.Arch) (r unwind.Registers) {
	for range rapid.IntRange(0, 5).Draw(t, "registers") {
		reg := unwind.Register(rapid.IntRange(0, 79).Draw(t, "register"))
		if _, ok := arch.ParseRegister(arch.RegisterName(reg)); ok {
			r.Set(reg, uint64(rapid.Uint32().Draw(t, "value")))
		}
	}
	return r
}

// drawFrame returns a frame as JSON can say it: with its PC among its registers,
// an unknown segment, and an offset only where there is an image.
func drawFrame(t *rapid.T, arch unwind.Arch) unwind.Frame {
	f := unwind.Frame{
		PC:         unwind.Code(uint64(rapid.Uint32().Draw(t, "pc")), rapid.SampledFrom([]unwind.PCKind{unwind.KindInstruction, unwind.KindReturn}).Draw(t, "kind")),
		Strategy:   nonEmpty(t, "strategy"),
		Trust:      unwind.Trust(rapid.IntRange(1, 4).Draw(t, "trust")),
		Registers:  drawRegisters(t, arch),
		CFA:        rapid.Uint64().Draw(t, "cfa"),
		Rule:       names.Draw(t, "rule"),
		Segment:    -1,
		Function:   names.Draw(t, "function"),
		File:       names.Draw(t, "file"),
		Line:       rapid.IntRange(0, 1<<20).Draw(t, "line"),
		Column:     rapid.IntRange(0, 1<<20).Draw(t, "column"),
		Image:      names.Draw(t, "image"),
		Inlined:    rapid.Bool().Draw(t, "inlined"),
		Group:      rapid.String().Draw(t, "group"),
		DelveFrame: rapid.IntRange(-1, 3).Draw(t, "delveFrame"),
	}
	f.Registers.Set(arch.PC(), f.PC.Raw())
	if f.Image != "" {
		f.Offset = rapid.Uint64().Draw(t, "offset")
	}
	for range rapid.IntRange(0, 2).Draw(t, "rejected") {
		f.Rejected = append(f.Rejected, unwind.Rejection{Strategy: nonEmpty(t, "s"), Reason: nonEmpty(t, "r"), Check: names.Draw(t, "check"), Rule: names.Draw(t, "rrule"),
			PC: rapid.Uint64().Draw(t, "rpc"), CFA: rapid.Uint64().Draw(t, "rcfa")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "notes") {
		f.Notes = append(f.Notes, names.Draw(t, "note"))
	}
	return f
}

func drawStacks(t *rapid.T, arch unwind.Arch) []unwind.Stack {
	stacks := make([]unwind.Stack, rapid.IntRange(0, 2).Draw(t, "stacks"))
	for i := range stacks {
		stacks[i] = unwind.Stack{
			Thread:    rapid.Uint64().Draw(t, "thread"),
			Goroutine: rapid.Uint64().Draw(t, "goroutine"),
			Frames:    []unwind.Frame{},
			Stop:      rapid.SampledFrom([]unwind.StopKind{unwind.End, unwind.Truncated}).Draw(t, "stop"),
			Reason:    names.Draw(t, "reason"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "frames") {
			stacks[i].Frames = append(stacks[i].Frames, drawFrame(t, arch))
		}
	}
	return stacks
}

// What is written satisfies the schema, is read back as the same, and matches
// itself.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arch := rapid.SampledFrom([]unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X}).Draw(t, "arch")
		stacks := drawStacks(t, arch)
		answer := FromStacks(arch, stacks, true)
		doc, err := Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(string(doc), '\n') {
			t.Fatalf("more than one line: %s", doc)
		}
		if err := schematest.CheckOutput(schema.Stack, doc); err != nil {
			t.Fatalf("%s\n%v", doc, err)
		}
		read, err := ParseAnswer(doc)
		if err != nil {
			t.Fatalf("%s\n%v", doc, err)
		}
		var viaJSON Answer
		if err := json.Unmarshal(doc, &viaJSON); err != nil || !reflect.DeepEqual(viaJSON, read) {
			t.Fatalf("json.Unmarshal gives %+v, %v", viaJSON, err)
		}
		back, err := read.Domain(arch)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, stacks) {
			t.Fatalf("%s\n got %+v\nwant %+v", doc, back, stacks)
		}
		// Without registers, the rest is the same.
		expect, err := Expect(FromStacks(arch, stacks, false))
		if err != nil {
			t.Fatal(err)
		}
		found, err := Match(expect, answer)
		if err != nil || len(found) > 0 {
			t.Fatalf("%s does not match itself: %v, %v", doc, found, err)
		}
	})
}

func TestFromFrameLeavesOutWhatIsUnknown(t *testing.T) {
	f := unwind.Frame{PC: unwind.Code(0x401000, unwind.KindReturn), Strategy: "fpwalk", Trust: unwind.TrustFramePointer, DelveFrame: -1, Offset: 7}
	f.Registers.Set(unwind.AMD64RBX, 5)
	check := func(registers bool, want string) {
		t.Helper()
		doc, err := Marshal(FromFrame(unwind.AMD64, 3, &f, registers))
		if err != nil || string(doc) != want {
			t.Errorf(" got %s, %v\nwant %s", doc, err, want)
		}
	}
	check(false, `{"index":3,"kind":"ra","pc":"0x401000","strategy":"fpwalk","trust":"frame-pointer"}`)
	check(true, `{"index":3,"kind":"ra","pc":"0x401000","strategy":"fpwalk","trust":"frame-pointer","registers":{"rbx":"0x5"}}`)
	// Known zeros are not unknown: the frame pointer of an outermost frame, the
	// first of Delve's frames, the first byte of an image.
	f.Registers.Set(unwind.AMD64RBP, 0)
	f.Registers.Set(unwind.AMD64RSP, 0x7ff0)
	f.DelveFrame, f.Image, f.Offset, f.Inlined = 0, "a.out", 0, true
	check(false, `{"index":3,"kind":"ra","pc":"0x401000","sp":"0x7ff0","fp":"0x0","image":"a.out","offset":"0x0","strategy":"fpwalk",`+
		`"trust":"frame-pointer","inlined":true,"delveFrame":0}`)
}

func TestAnswerForms(t *testing.T) {
	empty, _ := Marshal(FromStacks(unwind.AMD64, nil, false))
	noFrames, _ := Marshal(FromStacks(unwind.AMD64, make([]unwind.Stack, 1), false))
	failed, _ := Marshal(Failure(errors.New("line 3: not JSON")))
	for want, doc := range map[string][]byte{
		`{"stacks":[]}`: empty, `{"stacks":[{"frames":[],"stop":"truncated"}]}`: noFrames, `{"error":"line 3: not JSON"}`: failed,
	} {
		if string(doc) != want {
			t.Errorf("got %s, want %s", doc, want)
		}
		if err := schematest.CheckOutput(schema.Stack, doc); err != nil {
			t.Error(err)
		}
	}
	a, err := ParseAnswer(failed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Domain(unwind.AMD64); err == nil || err.Error() != "line 3: not JSON" {
		t.Error(err)
	}
}

// frameWith is an answer with one frame, some of whose fields are replaced.
func frameWith(fields string) string {
	return `{"stacks":[{"stop":"end","frames":[{"index":0,"kind":"pc","pc":"0x1","strategy":"x","trust":"cfi"` + fields + `}]}]}`
}

func TestParseAnswerErrors(t *testing.T) {
	const frame = "stacks[0].frames[0]"
	tests := []struct{ doc, want string }{
		{`{}`, "an answer has either stacks or an error"},
		{`{"stacks":[],"error":"x"}`, "an answer has either stacks or an error"},
		{`[]`, "expected an object, found an array"},
		{`{"stacks":[{"frames":[]}]}`, "stacks[0].stop: required, and not there"},
		{`{"stacks":[{"stop":"end"}]}`, "stacks[0].frames: required, and not there"},
		{`{"stacks":[{"stop":"done","frames":[]}]}`, `stacks[0].stop: unknown stop "done" (known: end, truncated)`},
		{`{"stacks":[{"stop":"end","frames":[{}]}]}`, frame + ".index: required, and not there"},
		{frameWith(`,"pc":"0x2"`), frame + ".pc: is there twice"},
		{frameWith(`,"cfa":16`), frame + ".cfa: expected a string, found a number"},
		{frameWith(`,"sp":"16"`), frame + `.sp: "16" is not an address (0x and lower-case digits without leading zeros, at most 64 bits)`},
		{frameWith(`,"line":-1`), frame + ".line: expected a whole number from 0 to 2147483647, found -1"},
		{frameWith(`,"inlined":"yes"`), frame + ".inlined: expected a boolean, found a string"},
		{frameWith(`,"registers":[]`), frame + ".registers: expected an object, found an array"},
		{frameWith(`,"registers":{"rip":"0x1","rip":"0x1"}`), frame + ".registers.rip: is there twice"},
		{frameWith(`,"rejected":[{"strategy":"s"}]`), frame + ".rejected[0].reason: required, and not there"},
		{frameWith(`,"notes":[1]`), frame + ".notes[0]: expected a string, found a number"},
		{strings.Replace(frameWith(""), `"pc"`, `"frame"`, 1), frame + `.kind: unknown kind of frame "frame" (known: pc, ra, async)`},
		{strings.Replace(frameWith(""), `"x"`, `""`, 1), frame + ".strategy: a strategy needs a name"},
		{strings.Replace(frameWith(""), "cfi", "none", 1), frame + `.trust: unknown trust "none" (known: context, cfi, frame-pointer, scan)`},
	}
	for _, tt := range tests {
		_, err := ParseAnswer([]byte(tt.doc))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s\n got %v\nwant %s", tt.doc, err, tt.want)
		}
		var field *FieldError
		if !errors.As(err, &field) {
			t.Errorf("%T is no FieldError", err)
		}
		if schematest.Check(schema.Stack, []byte(tt.doc)) == nil && !strings.Contains(tt.want, "twice") {
			t.Errorf("the schema accepts %s", tt.doc)
		}
	}
	if _, err := ParseAnswer([]byte(frameWith(`,"future":{"pc":1},"cfa":null`))); err != nil {
		t.Errorf("an unknown field, or null: %v", err)
	}
}

func TestDomainErrors(t *testing.T) {
	tests := []struct {
		fields, want string
		arch         unwind.Arch
	}{
		{`,"registers":{"x0":"0x1"}`, `registers.x0: amd64 has no register "x0"`, unwind.AMD64},
		{`,"registers":{"reg17":"0x1"}`, `registers.reg17: amd64 has no register "reg17"`, unwind.AMD64},
		{`,"registers":{"fp":"0x1","x29":"0x1"}`, "registers.x29: is there twice", unwind.ARM64},
		{`,"registers":{"eax":"0x100000000"}`, "registers.eax: 0x100000000 is more than register eax of 386 can hold", unwind.I386},
	}
	for _, tt := range tests {
		a, err := ParseAnswer([]byte(frameWith(tt.fields)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Domain(tt.arch)
		if want := "stacks[0].frames[0]." + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s on %v: got %v, want %s", tt.fields, tt.arch, err, want)
		}
	}
	a, err := ParseAnswer([]byte(strings.Replace(frameWith(""), `"pc"`, `"async"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Domain(unwind.AMD64); !errors.Is(err, ErrAsync) {
		t.Error(err)
	}
	for _, f := range []Frame{{Kind: "x"}, {Kind: KindPC, Trust: "x"}} {
		if _, err := f.Domain(unwind.AMD64); err == nil {
			t.Errorf("%+v is a frame", f)
		}
	}
}

// FuzzAnswer: an error or a value, and a value is read back as what was written;
// what is an answer can be expected, and matches itself.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(frameWith(`,"cfa":"0x0","sp":"0x10","fp":"0x0","function":"a<b>","file":"f","line":3,"column":4,"image":"i","offset":"0x0","rule":"cfa=rsp+8","tailCall":true,` +
		`"inlined":true,"delveFrame":0,"registers":{"rip":"0x1","x29":"0x2"},"rejected":[{"strategy":"s","reason":"r","pc":"0x1"}],"notes":["n"],"z":{}`)))
	f.Add([]byte(`{"stacks":[{"thread":1,"goroutine":2,"frames":[],"stop":"truncated","reason":"no rule here"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := ParseAnswer(doc)
		if err != nil {
			return
		}
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X} {
			if _, err := a.Domain(arch); err != nil && err.Error() == "" {
				t.Fatal("an error without words")
			}
		}
		out, err := Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.CheckOutput(schema.Stack, out); err != nil {
			t.Fatalf("%s\n%v", out, err)
		}
		again, err := ParseAnswer(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if twice, err := Marshal(again); err != nil || string(twice) != string(out) {
			t.Fatalf("not stable, %v:\n%s\n%s", err, out, twice)
		}
		expect, err := ParseExpectation(doc)
		if err != nil {
			t.Fatalf("%s is an answer, and cannot be expected: %v", doc, err)
		}
		if _, err := Match(expect, a); err != nil {
			t.Fatal(err)
		}
		expect, err = Expect(a)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := Match(expect, again); err != nil || len(found) > 0 {
			t.Fatalf("%s does not match itself: %v, %v", out, found, err)
		}
	})
}

func parseAddress(text string) (a Address, err error) {
	err = a.UnmarshalText([]byte(text))
	return a, err
}
