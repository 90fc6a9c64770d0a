//go:build linux && (amd64 || arm64)

package sampled

import (
	"encoding/json"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// frame is what is known of a frame of the true stack: of those below the function that
// was stepped through, the name alone.
type frame struct {
	PC       stackjson.Address `json:"pc,omitzero"`
	SP       stackjson.Address `json:"sp,omitzero"`
	Function string            `json:"function,omitempty"`
}

// truth is a whole stack, as a snapshot expects it.
type truth struct {
	Stacks []struct {
		Frames []frame `json:"frames"`
		Stop   string  `json:"stop"`
	} `json:"stacks"`
}

// below are the callers of the Go function that is stepped through.
var below = []string{"main.main", "runtime.main", "runtime.goexit"}

// truth is the whole stack of the process as it stands.
func (p *process) truth() (*stackjson.Expectation, error) {
	var t truth
	t.Stacks = append(t.Stacks, struct {
		Frames []frame `json:"frames"`
		Stop   string  `json:"stop"`
	}{Stop: "end", Frames: []frame{{PC: stackjson.Address(p.regs[regPC]), SP: stackjson.Address(p.regs[regSP])}}})
	frames := &t.Stacks[0].Frames
	for i := len(p.calls) - 1; i >= 0; i-- {
		*frames = append(*frames, frame{PC: stackjson.Address(p.calls[i].RA), SP: stackjson.Address(p.calls[i].CFA)})
	}
	// The first activation returns to the first of them.
	(*frames)[len(*frames)-1].Function = below[0]
	for _, name := range below[1:] {
		*frames = append(*frames, frame{Function: name})
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	e, err := stackjson.ParseExpectation(text)
	return &e, err
}

// class is what became of a stack.
type class int

const (
	exact     class = iota // every frame, and the end
	truncated              // right as far as it goes, and says that it is not complete
	falseScan              // a false frame with the trust of a scan
	wrong                  // a false frame with more trust
	falseEnd               // right as far as it goes, and claims to be complete
	classes
)

// code is that of the program that a stack was taken of.
type code struct {
	arch     unwind.Arch
	function func(unwind.LookupAddr) (assembler.Function, bool) // around an address
}

// judge compares a stack with the true one. why tells the first difference.
func (code code) judge(stack *unwind.Stack, want []frame) (c class, why string) {
	for i := range stack.Frames {
		f := &stack.Frames[i]
		fn, _ := code.function(f.PC.Lookup(code.arch))
		if problem := code.differs(f, fn.Name, i, want); problem != "" {
			c = wrong
			if f.Trust <= unwind.TrustScan {
				c = falseScan
			}
			return c, fmt.Sprintf("frame %d (%s by %s, called by %s) %s", i, f.Trust, f.Strategy, code.name(stack, i-1), problem)
		}
	}
	last := len(stack.Frames) - 1
	switch {
	case stack.Stop == unwind.Truncated:
		return truncated, "behind " + code.name(stack, last) + ": " + stack.Reason
	case len(stack.Frames) < len(want):
		return falseEnd, fmt.Sprintf("%d of %d frames, ends behind %s: %s", len(stack.Frames), len(want), code.name(stack, last), stack.Reason)
	}
	return exact, ""
}

func (code code) differs(f *unwind.Frame, function string, i int, want []frame) string {
	if i >= len(want) {
		return fmt.Sprintf("is one too many: %s", function)
	}
	w := &want[i]
	sp, known := f.Registers.SP(code.arch)
	known = known || code.arch != unwind.ARM64 // R12
	switch {
	case w.PC != 0 && f.PC.Raw() != uint64(w.PC):
		return fmt.Sprintf("is %#x (%s), truth %#x", f.PC.Raw(), function, uint64(w.PC))
	case known && w.SP != 0 && sp != uint64(w.SP):
		return fmt.Sprintf("has SP %#x, truth %#x", sp, uint64(w.SP))
	case w.Function != "" && function != w.Function:
		return fmt.Sprintf("is %s, truth %s", function, w.Function)
	}
	return ""
}

// name is where a frame is, as image and function or offset.
func (code code) name(stack *unwind.Stack, i int) string {
	if i < 0 {
		return ""
	}
	f := &stack.Frames[i]
	at := f.PC.Lookup(code.arch)
	if fn, ok := code.function(at); ok && fn.Name != "" {
		return fmt.Sprintf("%s+%#x", fn.Name, uint64(at)-fn.Start)
	}
	return fmt.Sprintf("%#x", uint64(at))
}
