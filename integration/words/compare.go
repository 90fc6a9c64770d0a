package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols"
)

// llvmFrame is a frame as llvm-symbolizer writes it.
type llvmFrame struct {
	FunctionName, FileName string
	Line, Column           int
}

// askLLVM returns llvm-symbolizer's chains.
func askLLVM(file string, addrs []uint64) (all [][]llvmFrame, err error) {
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer-19", "--obj="+file, "--inlines", "--no-demangle", "--output-style=JSON")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("llvm-symbolizer: %w", err)
	}
	for line := range bytes.Lines(out) {
		var one struct{ Symbol []llvmFrame }
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("llvm-symbolizer: %w", err)
		}
		all = append(all, one.Symbol)
	}
	if len(all) != len(addrs) {
		return nil, fmt.Errorf("llvm-symbolizer answers %d of %d addresses", len(all), len(addrs))
	}
	return all, nil
}

// tally counts how chains compare.
type tally struct {
	addrs, undescribed, same, scoped, symbol, inlined int
	gdb, noStatement, noLine, nested                  int // of those that GDB was asked for
	wrong                                             int
	examples                                          []string
}

const heading = "   asked no DWARF     same   scopes by symb.  inlined      gdb no stmt.  no line   nested   differ  file"

func (t *tally) plus(o *tally) {
	t.addrs, t.undescribed, t.same = t.addrs+o.addrs, t.undescribed+o.undescribed, t.same+o.same
	t.scoped, t.symbol, t.inlined, t.wrong = t.scoped+o.scoped, t.symbol+o.symbol, t.inlined+o.inlined, t.wrong+o.wrong
	t.gdb, t.noStatement, t.noLine = t.gdb+o.gdb, t.noStatement+o.noStatement, t.noLine+o.noLine
	t.nested += o.nested
	t.examples = append(t.examples, o.examples...)
}

func (t *tally) print(name string, say func(format string, args ...any)) {
	say("%8d %8d %8d %8d %8d %8d %8d %8d %8d %8d %8d  %s",
		t.addrs, t.undescribed, t.same, t.scoped, t.symbol, t.inlined, t.gdb, t.noStatement, t.noLine, t.nested, t.wrong, name)
	for _, e := range t.examples {
		say("%s", e)
	}
}

// differ counts a difference that is not known.
func (t *tally) differ(example string) {
	if t.wrong++; t.wrong <= 3 {
		t.examples = append(t.examples, example)
	}
}

func (t *tally) err() error {
	if t.wrong > 0 {
		return errors.New("there are differences")
	}
	return nil
}

func compareAll(files []string, n int) error {
	sayLine("%s", heading)
	var all tally
	for _, name := range files {
		text, debug, separate := strings.Cut(name, "=")
		if !separate {
			debug = text
		}
		t, err := compare(text, debug, n)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.print(name, sayLine)
		all.plus(t)
	}
	all.examples = nil
	all.print(fmt.Sprintf("all %d", len(files)), sayLine)
	return all.err()
}

// compare compares clew's words of n addresses of a file with those of other tools,
// which read the debugging information in plain.
func compare(file, plain string, n int) (*tally, error) {
	addrs, err := sample(file, n)
	if err != nil {
		return nil, err
	}
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	theirs, err := askLLVM(plain, addrs)
	if err != nil {
		return nil, err
	}
	gdb, err := askGDB(plain, addrs)
	if err != nil {
		return nil, err
	}
	statement, err := statements(plain)
	if err != nil {
		return nil, err
	}
	known, err := symbolsOf(plain)
	if err != nil {
		return nil, err
	}
	t := &tally{}
	for i, a := range addrs {
		ours := f.Calls(a)
		t.add(a, ours, theirs[i], known)
		t.addGDB(a, ours, &gdb[i], at{statement(a), len(ours) == len(theirs[i]), known})
	}
	for _, err := range f.Problems() {
		t.differ(err.Error())
	}
	return t, nil
}

// symbolTable has the addresses of a file's symbols.
type symbolTable map[string]uint64

func (s symbolTable) has(name string) bool {
	_, ok := s[name]
	return ok
}

// areOne says whether two names are of one address.
func (s symbolTable) areOne(a, b string) bool { return s.has(a) && s.has(b) && s[a] == s[b] }

func symbolsOf(file string) (symbolTable, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table := make(symbolTable)
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		all, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, err
		}
		for _, s := range all {
			table[s.Name] = s.Value
		}
	}
	return table, nil
}

// sample returns addresses over all of .text.
func sample(file string, n int) (addrs []uint64, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil {
		return nil, errors.New("it has no .text")
	}
	for a := s.Addr; a < s.Addr+s.Size; a += max(1, s.Size/uint64(max(n, 1))) {
		addrs = append(addrs, a)
	}
	return addrs, nil
}

// add compares a chain with LLVM's.
func (t *tally) add(addr uint64, ours []symbols.Call, theirs []llvmFrame, known symbolTable) {
	t.addrs++
	described := len(ours) > 0 && (ours[0].Described || ours[0].File != "")
	if !described && len(theirs) == 1 && theirs[0].Line == 0 {
		t.undescribed++
		return
	}
	t.inlined += max(len(ours)-1, 0)
	what := chainsDiffer(ours, theirs, known)
	switch what {
	case "":
		t.same++
	case scoped:
		t.scoped++
	case bySymbol:
		t.symbol++
	default:
		t.differ(fmt.Sprintf("%#x %s:\n  clew %+v\n  LLVM %+v", addr, what, ours, theirs))
	}
}

// chainsDiffer says in what two chains differ: in what is not known before what is.
func chainsDiffer(ours []symbols.Call, theirs []llvmFrame, known symbolTable) (what string) {
	if len(ours) != len(theirs) {
		return "depth"
	}
	for i := range ours {
		one := differ(&ours[i], &theirs[i], i+1 == len(ours) && known.has(theirs[i].FunctionName))
		if what == "" || one != "" && one != scoped && one != bySymbol {
			what = one
		}
	}
	return what
}

// Differences that are known.
const (
	scoped   = "scopes" // of a function that the linker has no name for: LLVM leaves them out
	bySymbol = "symbol" // LLVM takes the outermost name from symbols before DWARF's
)

// differ says in what two frames differ, "" for nothing.
func differ(a *symbols.Call, b *llvmFrame, symbol bool) string {
	file := ""
	if b.FileName != "" {
		file = path.Clean(b.FileName)
	}
	switch {
	case a.Line != b.Line:
		return "line"
	case a.Column != b.Column:
		return "column"
	case a.File != file && a.Line > 0:
		return "file"
	case a.Function == names.Demangle(b.FunctionName) || a.Function == b.FunctionName || sameD(a.Function, b.FunctionName):
		return ""
	case strings.HasSuffix(a.Function, "::"+b.FunctionName) || strings.HasSuffix(a.Function, "."+b.FunctionName):
		return scoped
	case symbol:
		return bySymbol
	}
	return "name"
}
