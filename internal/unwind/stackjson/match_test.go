package stackjson_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// answer is a stack of two frames.
func answer() Answer {
	inner := unwind.Frame{PC: unwind.Code(0x1000, unwind.KindInstruction), Strategy: "registers", Trust: unwind.TrustContext, CFA: 0x7ff0,
		DelveFrame: 0, Rejected: []unwind.Rejection{{Strategy: "scan", Reason: "no call before it", PC: 0x99}}}
	inner.Registers.Set(unwind.AMD64RBX, 3)
	inner.Registers.Set(unwind.AMD64RBP, 0)
	outer := unwind.Frame{PC: unwind.Code(0x2000, unwind.KindReturn), Strategy: "fpwalk", Trust: unwind.TrustFramePointer, DelveFrame: -1, Function: "main"}
	return FromStacks(unwind.AMD64, []unwind.Stack{{Thread: 1<<63 + 1, Frames: []unwind.Frame{inner, outer}, Stop: unwind.End}}, true)
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name, expect string
		want         []string
	}{
		{"nothing", `{}`, nil},
		{"some fields", `{"stacks":[{"stop":"end","frames":[{"index":0,"pc":"0x1000"},{"trust":"frame-pointer"}]}]}`, nil},
		{"white space", " {\n\t\"stacks\" : [ { \"thread\" : 9223372036854775809 } ] } ", nil},
		{"an id that a float cannot hold", `{"stacks":[{"thread":9223372036854775808}]}`,
			[]string{"stacks[0].thread: expected 9223372036854775808, got 9223372036854775809"}},
		{"unknown fields", `{"stacks":[{"remarks":["x"],"frames":[{"colour":"red"},{}]}],"took":5}`, nil},
		{"null is absent", `{"stacks":[{"frames":null,"thread":null}]}`, nil},
		{"another pc", `{"stacks":[{"frames":[{},{"pc":"0x2004"}]}]}`, []string{`stacks[0].frames[1].pc: expected "0x2004", got "0x2000"`}},
		{"an absent field", `{"stacks":[{"frames":[{"function":"f","line":0},{}]}]}`,
			[]string{`stacks[0].frames[0].function: expected "f", but it is absent`, `stacks[0].frames[0].line: expected 0, but it is absent`}},
		{"index zero", `{"stacks":[{"frames":[{},{"index":0}]}]}`, []string{"stacks[0].frames[1].index: expected 0, got 1"}},
		{"fp zero is known", `{"stacks":[{"frames":[{"fp":"0x0"},{"fp":"0x0"}]}]}`, []string{`stacks[0].frames[1].fp: expected "0x0", but it is absent`}},
		{"delveFrame zero", `{"stacks":[{"frames":[{"delveFrame":0},{"delveFrame":0}]}]}`, []string{"stacks[0].frames[1].delveFrame: expected 0, but it is absent"}},
		{"not inlined", `{"stacks":[{"frames":[{"inlined":false},{"inlined":true}]}]}`, []string{"stacks[0].frames[1].inlined: expected true, but it is absent"}},
		{"too few frames", `{"stacks":[{"frames":[{},{},{"pc":"0x3"}]}]}`, []string{"stacks[0].frames.length: expected 3, got 2"}},
		{"too many frames", `{"stacks":[{"frames":[{"kind":"ra"}]}]}`,
			[]string{"stacks[0].frames.length: expected 1, got 2", `stacks[0].frames[0].kind: expected "ra", got "pc"`}},
		{"no stacks", `{"stacks":[]}`, []string{"stacks.length: expected 0, got 1"}},
		{"another stop", `{"stacks":[{"stop":"truncated","reason":"no rule here"}]}`,
			[]string{`stacks[0].reason: expected "no rule here", but it is absent`, `stacks[0].stop: expected "truncated", got "end"`}},
		{"registers that are there", `{"stacks":[{"frames":[{"registers":{"rbx":"0x3"}},{}]}]}`, nil},
		{"another register", `{"stacks":[{"frames":[{"registers":{"rbx":"0x4","r12":"0x1"}},{"registers":{"rip":"0x2000"}}]}]}`, []string{
			`stacks[0].frames[0].registers.r12: expected "0x1", but it is absent`,
			`stacks[0].frames[0].registers.rbx: expected "0x4", got "0x3"`,
			`stacks[0].frames[1].registers: expected {"rip":"0x2000"}, but it is absent`}},
		{"rejected", `{"stacks":[{"frames":[{"rejected":[{"strategy":"scan","pc":"0x98"}]},{"rejected":[]}]}]}`,
			[]string{`stacks[0].frames[0].rejected[0].pc: expected "0x98", got "0x99"`}},
		{"notes", `{"stacks":[{"frames":[{"notes":["a"]},{"notes":[]}]}]}`, []string{`stacks[0].frames[0].notes: expected ["a"], but it is absent`}},
		{"an error", `{"error":"x"}`, []string{`error: expected "x", but it is absent`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect, err := ParseExpectation([]byte(tt.expect))
			if err != nil {
				t.Fatal(err)
			}
			found, err := Match(expect, answer())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range found {
				got = append(got, m.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestMatchError(t *testing.T) {
	expect, _ := ParseExpectation([]byte(`{"error":"boom"}`))
	if found, err := Match(expect, Failure(fmt.Errorf("boom"))); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	var nothing Expectation
	if found, err := Match(nothing, answer()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	if doc, err := Marshal(nothing); err != nil || string(doc) != "{}" {
		t.Errorf("%s, %v", doc, err)
	}
	stacks, _ := ParseExpectation([]byte(`{"stacks":[]}`))
	if found, _ := Match(stacks, Failure(fmt.Errorf("boom"))); len(found) != 1 || found[0].Path != "stacks" {
		t.Errorf("an error passes for no stacks: %v", found)
	}
}

func TestParseExpectationErrors(t *testing.T) {
	for doc, want := range map[string]string{
		`{"stacks":[{"frames":[{"pc":"0X1"}]}]}`:  `stacks[0].frames[0].pc: "0X1" is not an address (0x and lower-case digits without leading zeros, at most 64 bits)`,
		`{"stacks":[{"stop":"no"}]}`:              `stacks[0].stop: unknown stop "no" (known: end, truncated)`,
		`{"stacks":[{"frames":[{"index":"0"}]}]}`: "stacks[0].frames[0].index: expected a number, found a string",
		`[]`: "expected an object, found an array",
		`{`:  "not JSON, at byte 1: unexpected end of JSON input",
	} {
		if _, err := ParseExpectation([]byte(doc)); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", doc, err, want)
		}
	}
}
