package goruntime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// Why Go's runtime cannot be read.
var (
	errNoModule    = errors.New("no module data of Go's runtime was found in the process")
	errNoVariables = errors.New("the runtime's list of goroutines was not found")
)

// maxData bounds a mapping that is searched for tables, in bytes.
const maxData = 256 << 20

// Symbols finds functions and variables of the program's images.
type Symbols interface {
	CodeOf(function string) [][]byte
	Located(function string) (code []byte, addr uint64)
	Variable(name string) uint64 // its address, 0 if it has no symbol
}

// Find finds the layout of the runtime's structures and the addresses of its variables, without
// DWARF.
func Find(arch unwind.Arch, mem unwind.Memory, code Symbols, maps []imagemap.Mapping) (*Layout, map[string]uint64, error) {
	module, err := findModule(mem, maps)
	if err != nil {
		return nil, nil, err
	}
	types, err := ReadTypes(mem, module.Types, module.ETypes, Structures...)
	if err != nil {
		return nil, nil, err
	}
	layout, err := DescribedLayout(arch, types, code.CodeOf)
	if err != nil {
		return nil, nil, err
	}
	vars, err := findVariables(arch, code)
	return layout, vars, err
}

// findVariables finds the runtime's variables, by symbols and by instructions. Where both
// are known they must agree.
func findVariables(arch unwind.Arch, code Symbols) (map[string]uint64, error) {
	out := make(map[string]uint64)
	for _, name := range []string{"runtime.allglen", "runtime.allgptr", "runtime.allm", "runtime.allp", "runtime.gomaxprocs", "runtime.gcphase",
		"runtime.memstats", "runtime.waitReasonStrings"} {
		if at := code.Variable(name); at != 0 {
			out[name] = at
		}
	}
	coded, err := gocode.ReadVariables(arch, code.Located)
	if err == nil {
		for name, at := range map[string]uint64{
			"runtime.allglen": coded.AllGLen, "runtime.allgptr": coded.AllGPtr, "runtime.allm": coded.AllM, "runtime.waitReasonStrings": coded.WaitReasons,
			"runtime.allp": coded.AllP, "runtime.gomaxprocs": coded.GoMaxProcs, "runtime.gcphase": coded.GCPhase,
		} {
			if known := out[name]; known != 0 && at != 0 && known != at {
				return nil, fmt.Errorf("%s is at %#x by its symbol and at %#x by the code: the runtime is not known", name, known, at)
			}
			if at != 0 {
				out[name] = at
			}
		}
	}
	if out["runtime.allglen"] == 0 || out["runtime.allgptr"] == 0 || out["runtime.allm"] == 0 {
		return nil, errors.Join(errNoVariables, err)
	}
	return out, nil
}

// findModule finds the module data of the first image that has any: in memory, where
// the loader has written the addresses of a position-independent program.
func findModule(mem unwind.Memory, maps []imagemap.Mapping) (gotab.Module, error) {
	for first := 0; first < len(maps); {
		last := first + 1
		for last < len(maps) && (maps[last].Path == maps[first].Path || maps[last].Path == "") && maps[first].Path != "" {
			last++
		}
		if strings.HasPrefix(maps[first].Path, "/") {
			if m, ok := moduleOf(mem, maps[first:last]); ok {
				return m, nil
			}
		}
		first = last
	}
	return gotab.Module{}, errNoModule
}

// moduleOf looks for a table of functions and its module data in the mappings of one
// file.
func moduleOf(mem unwind.Memory, maps []imagemap.Mapping) (gotab.Module, bool) {
	read := func(m imagemap.Mapping) []byte {
		if m.End-m.Start > maxData || m.Path == "" || !strings.HasPrefix(m.Perm, "r") {
			return nil
		}
		data := make([]byte, m.End-m.Start)
		if mem.ReadMemory(m.Start, data) != nil {
			return nil
		}
		return data
	}
	// Code comes last: on arm64 linkers put the tables into one segment with it.
	ordered := slices.SortedStableFunc(slices.Values(maps), func(a, b imagemap.Mapping) int {
		return strings.Count(a.Perm, "x") - strings.Count(b.Perm, "x")
	})
	for _, m := range ordered {
		data := read(m)
		for table, off := gotab.Find(data, 0, binary.LittleEndian); table != nil; table, off = gotab.Find(data, off+1, binary.LittleEndian) {
			for _, d := range maps {
				if module, _, ok := table.FindModule(read(d), m.Start+uint64(off)); ok {
					return module, true
				}
			}
		}
	}
	return gotab.Module{}, false
}
