package main

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols"
)

// TestCorpus compares the words of code addresses with those of llvm-symbolizer and GDB in
// some builds of the corpus, a few of each compiler and form; the log names how many it
// leaves out.
func TestCorpus(t *testing.T) {
	testneed.Tool(t, "llvm-symbolizer-19")
	testneed.Tool(t, "gdb")
	for _, b := range corpus() {
		for _, tool := range b.tools() {
			if _, err := testneed.Lookup(tool); err != nil && b.short && testneed.InCI() {
				t.Errorf("CI leaves nothing out: %v", err)
			}
		}
	}
	if err := compareCorpus(func(b *build) bool { return b.short }, 300, t.Logf); err != nil {
		t.Error(err)
	}
}

// TestDiffer: what is wrong is no known difference.
func TestDiffer(t *testing.T) {
	right := symbols.Call{Function: "std::sort<int>", File: "/a.h", Line: 3, Column: 4, Described: true}
	frame := llvmFrame{FunctionName: "sort<int>", FileName: "/a.h", Line: 3, Column: 4}
	for _, c := range []struct {
		change func(c *symbols.Call, f *llvmFrame)
		symbol bool
		want   string
	}{
		{func(*symbols.Call, *llvmFrame) {}, false, scoped},
		{func(c *symbols.Call, f *llvmFrame) { f.FunctionName = "std::sort<int>" }, false, ""},
		{func(c *symbols.Call, f *llvmFrame) { f.FunctionName = "_Z3runi" }, true, bySymbol},
		{func(c *symbols.Call, f *llvmFrame) { f.FunctionName = "_Z3runi" }, false, "name"},
		{func(c *symbols.Call, f *llvmFrame) { c.Function = "xsort<int>" }, false, "name"},
		{func(c *symbols.Call, f *llvmFrame) { c.Line = 4 }, true, "line"},
		{func(c *symbols.Call, f *llvmFrame) { c.Column = 5 }, true, "column"},
		{func(c *symbols.Call, f *llvmFrame) { c.File = "/b.h" }, true, "file"},
	} {
		a, b := right, frame
		c.change(&a, &b)
		if got := differ(&a, &b, c.symbol); got != c.want {
			t.Errorf("%+v, %+v: %q, want %q", a, b, got, c.want)
		}
	}
	tally := &tally{}
	tally.addGDB(1, []symbols.Call{right}, &gdbChain{"a.h", 4, []string{"std::sort<int>"}}, at{statement: true, asLLVM: true})
	tally.addGDB(2, []symbols.Call{right}, &gdbChain{"a.h", 3, []string{"other::sort<int>"}}, at{statement: true, asLLVM: true})
	tally.addGDB(3, []symbols.Call{right}, &gdbChain{"a.h", 3, []string{"std::sort<int>", "main"}}, at{statement: true, asLLVM: false})
	if tally.wrong != 3 || tally.err() == nil || strings.Join(tally.examples, "") == "" {
		t.Errorf("%+v", tally)
	}
	tally.addGDB(4, []symbols.Call{right}, &gdbChain{"a.h", 4, []string{"std::sort<int>"}}, at{statement: false, asLLVM: true})
	tally.addGDB(5, []symbols.Call{right}, &gdbChain{"a.h", 3, []string{"std::sort<int>", "main"}}, at{statement: true, asLLVM: true})
	if tally.wrong != 3 || tally.noStatement != 1 || tally.nested != 1 {
		t.Errorf("%+v", tally)
	}
}
