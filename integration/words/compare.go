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
	Line                   int
}

// askLLVM returns llvm-symbolizer's chains.
func askLLVM(file string, addrs []uint64) (all [][]llvmFrame, err error) {
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer", "--obj="+file, "--inlines", "--no-demangle", "--output-style=JSON")
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
	addrs, undescribed, same, symbol, inlined, wrong int
	examples                                         []string
}

func (t *tally) plus(o *tally) {
	t.addrs, t.undescribed, t.same = t.addrs+o.addrs, t.undescribed+o.undescribed, t.same+o.same
	t.symbol, t.inlined, t.wrong = t.symbol+o.symbol, t.inlined+o.inlined, t.wrong+o.wrong
}

func (t *tally) print(name string) {
	fmt.Printf("%8d %8d %8d %8d %8d %8d  %s\n", t.addrs, t.undescribed, t.same, t.symbol, t.inlined, t.wrong, name)
	for _, e := range t.examples {
		fmt.Println(e)
	}
}

func compareAll(files []string, n int) error {
	fmt.Printf("%8s %8s %8s %8s %8s %8s  %s\n", "asked", "no DWARF", "same", "by symb.", "inlined", "differ", "file")
	var all tally
	for _, name := range files {
		t, err := compare(name, n)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.print(name)
		all.plus(t)
	}
	all.print(fmt.Sprintf("all %d", len(files)))
	if all.wrong > 0 {
		return errors.New("there are differences")
	}
	return nil
}

func compare(name string, n int) (*tally, error) {
	text, debug, separate := strings.Cut(name, "=")
	if !separate {
		debug = text
	}
	addrs, err := sample(text, n)
	if err != nil {
		return nil, err
	}
	f, err := open(text)
	if err != nil {
		return nil, err
	}
	theirs, err := askLLVM(debug, addrs)
	if err != nil {
		return nil, err
	}
	t := &tally{}
	for i, a := range addrs {
		t.add(a, f.Calls(a), theirs[i])
	}
	for _, err := range f.Problems() {
		t.examples = append(t.examples, err.Error())
	}
	return t, nil
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

// add compares two chains.
func (t *tally) add(addr uint64, ours []symbols.Call, theirs []llvmFrame) {
	t.addrs++
	described := len(ours) > 0 && (ours[0].Described || ours[0].File != "")
	if !described && len(theirs) == 1 && theirs[0].Line == 0 {
		t.undescribed++
		return
	}
	t.inlined += max(len(ours)-1, 0)
	what := "depth"
	if len(ours) == len(theirs) {
		what = ""
		for i := range ours {
			if what = differ(&ours[i], &theirs[i], i+1 == len(ours)); what != "" {
				break
			}
		}
	}
	switch what {
	case "":
		t.same++
	case "symbol":
		t.symbol++
	default:
		if t.wrong++; t.wrong <= 3 {
			t.examples = append(t.examples, fmt.Sprintf("%#x %s:\n  clew %+v\n  LLVM %+v", addr, what, ours, theirs))
		}
	}
}

// differ says in what two frames differ, "" for nothing.
func differ(a *symbols.Call, b *llvmFrame, outermost bool) string {
	file := ""
	if b.FileName != "" {
		file = path.Clean(b.FileName)
	}
	switch {
	case a.Line != b.Line:
		return "line"
	case a.File != file && a.Line > 0:
		return "file"
	case a.Function == names.Demangle(b.FunctionName) || a.Function == b.FunctionName:
		return ""
	case outermost:
		return "symbol"
	}
	return "name"
}
