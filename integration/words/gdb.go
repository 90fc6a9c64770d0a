package main

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

//go:embed testdata/chains.py
var chains []byte

// gdbChain is what GDB's tables say of an address: the innermost place, and the names of
// the functions, the innermost first.
type gdbChain struct {
	File  string
	Line  int
	Names []string
}

// askGDB returns GDB's chains.
func askGDB(file string, addrs []uint64) (all []gdbChain, err error) {
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%x\n", a)
	}
	list, script := filepath.Join(dir, "addresses"), filepath.Join(dir, "chains.py")
	if err := errors.Join(os.WriteFile(list, in.Bytes(), 0o600), os.WriteFile(script, chains, 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", script, file)
	cmd.Env = append(os.Environ(), "ADDRESSES="+list)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("gdb: %w", err)
	}
	for line := range bytes.Lines(out) {
		var one gdbChain
		if json.Unmarshal(line, &one) == nil {
			all = append(all, one)
		}
	}
	if len(all) != len(addrs) {
		return nil, fmt.Errorf("gdb answers %d of %d addresses", len(all), len(addrs))
	}
	return all, nil
}

// at is what else is known of an address.
type at struct {
	statement bool // its row in the line table is one
	asLLVM    bool // clew's depth is LLVM's
	known     symbolTable
}

// addGDB compares a chain with GDB's. What is known to differ counts apart: GDB takes the
// last row that is a statement, and for line 0 a row before.
func (t *tally) addGDB(addr uint64, ours []symbols.Call, theirs *gdbChain, is at) {
	if len(ours) == 0 || !ours[0].Described { // GDB knows functions without DWARF by symbols
		return
	}
	t.gdb++
	what := ""
	switch {
	case len(ours) == len(theirs.Names):
	case len(ours) < len(theirs.Names) && is.asLLVM:
		// The outermost function is nested in another one, which GDB's blocks do not tell
		// from a caller.
		t.nested++
	default:
		what = "depth"
	}
	if what == "" && !t.sameNames(ours, theirs.Names, is.known) {
		what = "name"
	}
	if what == "" && !t.samePlace(&ours[0], theirs, is.statement) {
		what = "line"
	}
	if what != "" {
		t.differ(fmt.Sprintf("%#x %s:\n  clew %+v\n  gdb  %+v", addr, what, ours, *theirs))
	}
}

// sameNames says whether the names are GDB's, or known to differ.
func (t *tally) sameNames(ours []symbols.Call, theirs []string, known symbolTable) bool {
	for i := range min(len(ours), len(theirs)) {
		a, b := ours[i].Function, theirs[i]
		if sameName(a, b) {
			continue
		}
		if i+1 < len(ours) || !known.areOne(a, b) { // of assembler's functions each label is one
			return false
		}
		t.symbol++
	}
	return true
}

// samePlace says whether the innermost place is GDB's, or known to differ.
func (t *tally) samePlace(ours *symbols.Call, theirs *gdbChain, statement bool) bool {
	switch {
	case ours.Line == theirs.Line && path.Base(ours.File) == path.Base(theirs.File):
	case ours.Line == 0:
		t.noLine++
	case !statement:
		t.noStatement++
	default:
		return false
	}
	return true
}

// sameD says whether a linker's name of D is that of clew's function, which is DWARF's: whether it has its last part, with the
// length before it.
func sameD(ours, theirs string) bool {
	if !dwarfline.IsD(theirs) {
		return false
	}
	last := names.Short(ours)
	last, _, _ = strings.Cut(last[strings.LastIndexByte(last, '.')+1:], "!")
	return strings.Contains(theirs, strconv.Itoa(len(last))+last)
}

// sameName says whether GDB's name is clew's. It leaves out functions as scopes and clones'
// suffixes, and writes types in its own way.
func sameName(ours, theirs string) bool {
	if sameD(ours, theirs) {
		return true
	}
	if plain := names.Demangle(theirs); plain != theirs {
		return ours == plain
	}
	a, b := names.Short(ours), names.Short(theirs)
	return a == b || strings.HasPrefix(a, b+".") || strings.HasSuffix(a, "::"+b) || strings.HasSuffix(a, "."+b)
}

// row is one row of a line table, up to the next.
type row struct {
	low, high uint64
	statement bool
}

// statements says whether the row at an address is a statement, by debug/dwarf.
func statements(file string) (func(addr uint64) bool, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	all, err := rows(data)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b row) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	return func(addr uint64) bool {
		i := sort.Search(len(all), func(i int) bool { return all[i].low > addr })
		return i > 0 && addr < all[i-1].high && all[i-1].statement
	}, nil
}

// rows lists the rows of all units.
func rows(data *dwarf.Data) (all []row, err error) {
	for r := data.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil || e == nil {
			return all, err
		}
		if lines, err := data.LineReader(e); err == nil && lines != nil {
			all = append(all, rowsOf(lines)...)
		}
	}
}

func rowsOf(lines *dwarf.LineReader) (all []row) {
	before := dwarf.LineEntry{EndSequence: true}
	for {
		var now dwarf.LineEntry
		if err := lines.Next(&now); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil
			}
			return all
		}
		if !before.EndSequence && before.Address < now.Address {
			all = append(all, row{before.Address, now.Address, before.IsStmt})
		}
		before = now
	}
}
