package integration

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestBoundedTypes: a library with a function whose parameter has a type that Delve's recursion does not end with,
// or whose unit has no line table. Delve does not get
// the library: a terminal that asks for arguments in it goes on, and the stack is right by what the program has recorded.
func TestBoundedTypes(t *testing.T) {
	objcopy := testneed.Tool(t, "objcopy")
	v := program.Variant{Name: "linked-O2-types", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked}
	p := build(t, v)
	whole, err := os.ReadFile(p.Library)
	if err != nil {
		t.Fatal(err)
	}
	for name, types := range map[string][]byte{"pointers": nestedPointers(), "functions": nestedFunctions(), "arrays": nestedArrays(), "channel of itself": ofItself(), "no line table": nil} {
		t.Run(name, func(t *testing.T) {
			if err := os.Remove(p.Library); err != nil {
				t.Fatal(err)
			}
			crafted := withTypes(types)
			if types == nil {
				crafted = withoutLines()
			}
			write(t, p.Library, crafted.add(t, objcopy, whole))
			scenario := program.Scenarios[0] // it stops in the library
			s, cost := measured(func() stopped { return launch(t, p, scenario.Name, scenario.Stop, "--format", "json") })
			s.check(t, v, scenario.Groups)
			cost.check(t)
			cmd := exec.Command(clewPath(), "exec", "--allow-non-terminal-interactive", p.Path, "--", scenario.Name, scenario.Stop, t.TempDir()+"/record")
			cmd.Stdin, cmd.Env = strings.NewReader("continue\nargs\nprint 1+1\nexit\n"), p.Env()
			o, cost := measured(func() outcome { return run(t, cmd) })
			o.want(t, done)
			if !strings.Contains(o.stdout, "(dlv) 2\n") || strings.Contains(o.stderr, "goroutine ") {
				t.Errorf("%v", o)
			}
			cost.check(t)
		})
	}
}

// The types of parameters, by the codes of withTypes; the first one lies at firstType.
const (
	codePointer, codeFunction, codeParameter, codeArray, codeRange, codeChannel, codeBase = 4, 5, 6, 7, 8, 9, 10

	firstType = 11 + 5 + 17 + 3 + 4 + 1 // behind the unit's header and entry, a function and its parameter
)

// withTypes has a function that covers the library, whose parameter has the first of the types.
func withTypes(types []byte) crafted {
	const (
		tagParameter, tagPointer, tagSubroutine, tagArray, tagSubrange, tagTypedef, tagBase = 0x05, 0x0f, 0x15, 0x01, 0x21, 0x16, 0x24
		atType, atCount, atSize, atEncoding, formData1                                      = 0x49, 0x37, 0x0b, 0x3e, 0x0b
		goKind, goElem                                                                      = 0x00, 0x02 // 0x2900, 0x2902: the low bytes
	)
	function := slices.Concat([]byte{2}, le64(1), le64(1<<30))
	parameter := slices.Concat([]byte{3, 'p', 0}, le32(firstType))
	return crafted{
		"abbrev": abbreviations(lined, []byte{tagFunction, 1, atLow, formAddr, atHigh, formAddr},
			[]byte{tagParameter, 0, atName, formString, atType, formRef}, []byte{tagPointer, 0, atType, formRef}, []byte{tagSubroutine, 1},
			[]byte{tagParameter, 0, atType, formRef}, []byte{tagArray, 1, atType, formRef}, []byte{tagSubrange, 0, atCount, formData1},
			[]byte{tagTypedef, 0, 0x80 | goKind, 0x52, formData1, 0x80 | goElem, 0x52, formRef}, []byte{tagBase, 0, atSize, formData1, atEncoding, formData1}),
		"info": unit(4, []byte{1}, le32(0), function, parameter, []byte{0}, types, []byte{codeBase, 4, 5, 0}),
		"line": lineTable(nil, nil),
	}
}

// withoutLines has a function that covers the library, in a unit without a line table.
func withoutLines() crafted {
	return crafted{
		"abbrev": abbreviations([]byte{tagUnit, 1}, []byte{tagFunction, 0, atLow, formAddr, atHigh, formAddr}),
		"info":   unit(4, []byte{1, 2}, le64(1), le64(1<<30), []byte{0}),
		"line":   lineTable(nil, nil),
	}
}

// nested has so many types of a size, each of which refers to the next one.
func nested(number, size int, one func(next int) []byte) (out []byte) {
	for i := range number {
		out = append(out, one(firstType+(i+1)*size)...)
	}
	return out
}

func nestedPointers() []byte {
	return nested(700_000, 5, func(next int) []byte { return append([]byte{codePointer}, le32(next)...) })
}

func nestedFunctions() []byte {
	return nested(40, 12, func(next int) []byte {
		parameter := append([]byte{codeParameter}, le32(next)...)
		return slices.Concat([]byte{codeFunction}, parameter, parameter, []byte{0})
	})
}

func nestedArrays() []byte {
	return nested(40_000, 8, func(next int) []byte { return slices.Concat([]byte{codeArray}, le32(next), []byte{codeRange, 2, 0}) })
}

func ofItself() []byte {
	const channel = 18 // reflect.Chan
	return slices.Concat([]byte{codeChannel, channel}, le32(firstType))
}
