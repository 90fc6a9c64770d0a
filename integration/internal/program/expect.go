package program

import (
	"fmt"
	"path"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// Expected is one frame that must come, or may.
type Expected struct {
	What     string
	PC       uint64 // exact, or
	Fn       uint64 // within the code of the function that begins here, or
	Name     string // by name (as path.Match has it)
	Image    string // in the image that this begins the file name of
	Callee   *Entry // whose return address this is
	Kind     string // "" for ra
	Optional bool
}

// reach is more than any function of native.c takes.
const reach = 1024

// Matches says that f is this frame.
func (e *Expected) Matches(f *stackjson.Frame) bool {
	pc := uint64(f.PC)
	switch {
	case e.PC != 0:
		return pc == e.PC
	case e.Fn != 0:
		return pc >= e.Fn && pc < e.Fn+reach
	}
	if e.Image != "" {
		return strings.HasPrefix(path.Base(f.Image), e.Image)
	}
	ok, _ := path.Match(e.Name, f.Function)
	return ok
}

// Names between C and Go, in the order of a stack.
var (
	goToC = []string{"runtime.asmcgocall", "runtime.cgocall"}
	cToGo = []string{"_cgoexp_*_pour", "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallbackg?", "runtime.cgocallback", "crosscall2"}
)

// GoNames are the Go functions at one place of a stack, innermost first. A
// trailing ? marks what may be missing.
type GoNames []string

// Expect puts record and Go's functions together: groups are the Go functions of
// each stretch of Go code, innermost first. The first frame's is the instruction
// that the program stopped at.
func Expect(record []Entry, groups []GoNames) (want []Expected) {
	names := func(list []string) {
		for _, n := range list {
			name, optional := strings.CutSuffix(n, "?")
			want = append(want, Expected{What: name, Name: name, Optional: optional})
		}
	}
	group := func() {
		if len(groups) > 0 {
			names(groups[0])
			groups = groups[1:]
		}
	}
	for i := range record {
		e := &record[i]
		switch {
		case e.Kind == 'B':
			if i == 0 {
				group() // stopped in Go
			}
			names(cToGo)
			want = append(want, Expected{What: "cgo's stub for pour", Fn: e.Fn})
		case i == 0:
			want = append(want, Expected{What: "the innermost function", Fn: e.Fn, Kind: "pc"})
		}
		if e.Kind == 'C' || e.Kind == 'O' {
			want = append(want, Expected{What: fmt.Sprintf("code of the function at %#x", e.Fn), Fn: e.Fn, Optional: e.Kind == 'O'})
			continue
		}
		want = append(want, Expected{What: fmt.Sprintf("return address of the function at %#x", e.Fn), PC: e.RA, Callee: e})
		switch e.Kind {
		case 'E':
			names(goToC)
			group()
		case 'S':
			want = append(want, Expected{What: "what the signal interrupted", PC: e.Extra, Kind: "pc"})
		}
	}
	return want
}
