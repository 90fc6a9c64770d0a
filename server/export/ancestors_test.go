package export_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

// TestAncestors: text and JSON have what led to a goroutine; CBF has it where it is asked for,
// as async frames behind the stack.
func TestAncestors(t *testing.T) {
	s := mixed()
	s.State = &unwind.State{
		Status: "waiting", CreatedBy: &unwind.Creation{Function: "main.spawn", File: "/src/app/main.go", Line: 5, Goroutine: 7},
		Ancestors: []unwind.Ancestor{
			{Goroutine: 7, Calls: []unwind.Creation{{PC: 0x401, Function: "main.spawn", File: "/src/app/main.go", Line: 5}, {PC: 0x402, Function: "main.handle", File: "/src/app/main.go", Line: 9}}},
			{Goroutine: 1, Calls: []unwind.Creation{{PC: 0x403, Function: "main.main", File: "/src/app/main.go", Line: 30}}},
		},
	}
	set := &export.Set{Arch: unwind.AMD64, Stacks: slices.Values([]unwind.Stack{s})}
	if got := text(t, export.TextOptions{}, s); !strings.Contains(got, `
  created by main.spawn in goroutine 7 at app/main.go:5
  goroutine 7 was then in main.spawn app/main.go:5, called by main.handle app/main.go:9
  goroutine 1 was then in main.main app/main.go:30
`) {
		t.Error(got)
	}
	var b bytes.Buffer
	if err := set.Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	if err := schematest.CheckOutput(schema.Stack, b.Bytes()); err != nil {
		t.Error(err)
	}
	var answer stackjson.Answer
	if err := json.Unmarshal(b.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	back, err := answer.Stacks[0].Domain(unwind.AMD64)
	if err != nil || len(back.State.Ancestors) != 2 || !slices.Equal(back.State.Ancestors[0].Calls, s.State.Ancestors[0].Calls) {
		t.Errorf("%+v, %v", back.State, err)
	}
	for asked, want := range map[bool][]uint64{false: nil, true: {0x401, 0x402, 0x403}} {
		files, err := (&export.Set{Arch: unwind.AMD64, Stacks: set.Stacks, Ancestors: asked}).Files("x", "cbf")
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := cbf.Decode(files[0].Data, cbf.DecodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, f := range decoded.Frames {
			if f.Kind == cbf.Async {
				got = append(got, f.Address)
			}
		}
		if !slices.Equal(got, want) || !decoded.Complete || len(decoded.Frames) != 5+len(want) {
			t.Errorf("asked %v: %#x", asked, decoded.Frames)
		}
	}
}
