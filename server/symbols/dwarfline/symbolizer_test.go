package dwarfline

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// llvmFrame is a frame as llvm-symbolizer writes it.
type llvmFrame struct {
	FunctionName, FileName string
	Line, Column           int
}

// askLLVM returns llvm-symbolizer's answers, an independent implementation's.
func askLLVM(t testing.TB, tool, file string, addrs []uint64) [][]llvmFrame {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(tool, "--obj="+file, "--inlines", "--no-demangle", "--output-style=JSON")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]llvmFrame
	for line := range bytes.Lines(out) {
		var one struct{ Symbol []llvmFrame }
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, one.Symbol)
	}
	if len(all) != len(addrs) {
		t.Fatalf("llvm-symbolizer answers %d of %d addresses", len(all), len(addrs))
	}
	return all
}

// openFile opens a program with all that belongs to it.
func openFile(t testing.TB, name string) *Table {
	t.Helper()
	src := sourceOf(t, name)
	src.Package = func() (*Source, error) {
		if _, err := os.Stat(name + ".dwp"); err != nil {
			return nil, nil
		}
		return sourceOf(t, name+".dwp"), nil
	}
	src.Split = func(dir, split string) (*Source, error) {
		if !filepath.IsAbs(split) {
			split = filepath.Join(dir, split)
		}
		if _, err := os.Stat(split); err != nil {
			return nil, err
		}
		return sourceOf(t, split), nil
	}
	src.Alternate = func() (*Source, error) {
		link, ok := AlternateLink(elfOf(t, name))
		if !ok {
			return nil, nil
		}
		return sourceOf(t, filepath.Join(filepath.Dir(name), link.Name)), nil
	}
	return New(src)
}

func elfOf(t testing.TB, name string) *elf.File {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func sourceOf(t testing.TB, name string) *Source { return FromELF(elfOf(t, name)) }

// sample returns addresses over all of .text.
func sample(t testing.TB, name string, most int) (addrs []uint64) {
	t.Helper()
	s := elfOf(t, name).Section(".text")
	step := max(1, s.Size/uint64(most))
	for a := s.Addr; a < s.Addr+s.Size; a += step {
		addrs = append(addrs, a)
	}
	return addrs
}

// tally counts the differences between two answers.
type tally struct {
	addrs, same, inlined, none int
	depth, name, file, line    int
	symbol                     int // the function's name is that of a symbol
	examples                   []string
}

func (c *tally) String() string {
	return fmt.Sprintf("%d addresses (%d not in DWARF), %d same, %d inlined frames; differ: depth %d, name %d, file %d, line or column %d; named by a symbol %d",
		c.addrs, c.none, c.same, c.inlined, c.depth, c.name, c.file, c.line, c.symbol)
}

func (c *tally) add(addr uint64, ours []Call, theirs []llvmFrame, isSymbol func(string) bool) {
	c.addrs++
	if len(ours) == 0 && len(theirs) == 1 && theirs[0].Line == 0 { // by a symbol: a file symbol names the file
		c.none++
		return
	}
	c.inlined += max(len(ours)-1, 0)
	what := ""
	if len(ours) != len(theirs) {
		c.depth++
		what = "depth"
	} else {
		for i := range ours {
			if what = c.compare(&ours[i], &theirs[i], isSymbol); what != "" {
				break
			}
		}
	}
	if what == "" {
		c.same++
	} else if len(c.examples) < 3 && what != "symbol" {
		c.examples = append(c.examples, fmt.Sprintf("%#x %s:\n ours %+v\n LLVM %+v", addr, what, ours, theirs))
	}
}

func (c *tally) compare(a *Call, b *llvmFrame, isSymbol func(string) bool) string {
	name := a.Linkage
	if name == "" {
		name = a.Name
	}
	file := ""
	if b.FileName != "" {
		file = path.Clean(b.FileName)
	}
	switch {
	case name != b.FunctionName && !a.Inlined && isSymbol(b.FunctionName):
		// LLVM takes a symbol's name before DWARF's: another of several for one address,
		// or that of a clone (.cold, .part, .constprop, .isra).
		c.symbol++
		return "symbol"
	case name != b.FunctionName && name != "":
		c.name++
		return "name"
	case a.File != file && a.Line+b.Line > 0:
		c.file++
		return "file"
	case a.Line != b.Line || a.Column != b.Column:
		c.line++
		return "line"
	}
	return ""
}

// symbolsOf says which names a file's symbols have.
func symbolsOf(t testing.TB, name string) func(string) bool {
	has := make(map[string]bool)
	f := elfOf(t, name)
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		symbols, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			t.Fatal(err)
		}
		for _, s := range symbols {
			has[s.Name] = true
		}
	}
	return func(name string) bool { return has[name] }
}
