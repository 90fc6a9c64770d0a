package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// labelSource has, in this order: a label with call-frame information, a static
// function without a symbol in the stripped file, a label without, and another static
// function.
const labelSource = `
	.text
	.globl label, bare
	.type label, @function
	.type bare, @function
label:
	.cfi_startproc
	nop
	nop
	ret
	.cfi_endproc
	.type hidden1, @function
hidden1:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size hidden1, .-hidden1
bare:
	nop
	nop
	ret
	.type hidden2, @function
hidden2:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size hidden2, .-hidden2
	.section .note.GNU-stack,"",@progbits
`

// assembledSource has functions without types, exported and not, with and without what says more of them.
const assembledSource = `
	.text
	.globl first
first:
	nop
	ret
second:
	nop
	ret
third:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.globl typed
	.type typed,@function
typed:
	nop
within:
	nop
	ret
	.size typed, .-typed
fourth:
	nop
	ret
	.section .text.other,"ax"
fifth:
	nop
	ret
	.section .note.GNU-stack,"",@progbits
`

// TestAssembled: an assembler's function without a type or a size has its label's name where the line table has its code, in a separate debug
// file too; without lines, a label that is not exported makes the name a guess.
func TestAssembled(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source := filepath.Join(dir, "a.s")
	if err := os.WriteFile(source, []byte(assembledSource), 0o600); err != nil {
		t.Fatal(err)
	}
	gcc, objcopy := testneed.Tool(t, "gcc"), testneed.Tool(t, "objcopy")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{gcc, "-shared", "-nostdlib", "-g", "-o", in("lines.so"), source},
		{gcc, "-shared", "-nostdlib", "-o", in("none.so"), source},
		{objcopy, "--only-keep-debug", in("lines.so"), in("apart.debug")},
		{objcopy, "--strip-all", "--add-gnu-debuglink=" + in("apart.debug"), in("lines.so"), in("apart.so")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	ef, err := elf.Open(in("lines.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	all, err := ef.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{"first": "first", "second": "second", "third": "third", "typed": "typed", "within": "typed", "fourth": "fourth", "fifth": "fifth"}
	for file, want := range map[string]map[string]string{
		"lines.so": named, "apart.so": named, "none.so": {"first": "first", "second": "first?", "typed": "typed", "within": "typed", "fourth": "", "fifth": ""},
	} {
		f, err := OpenWithDebug(in(file), DebugSearch{Known: in(file), Beside: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			for _, addr := range []uint64{s.Value, s.Value + 1} {
				got := ""
				if calls := f.Calls(addr); len(calls) > 0 {
					if got = calls[0].Function; calls[0].Label != 0 {
						got += "?"
					}
				}
				if name, ok := want[s.Name]; ok && got != name {
					t.Errorf("%s: %#x, in %s, is of %q, want %q", file, addr, s.Name, got, name)
				}
			}
		}
	}
}

// TestLabels: in a stripped library a symbol without a size names no code that is
// another function's, and says where it is a guess.
func TestLabels(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source, whole, stripped := filepath.Join(dir, "a.s"), filepath.Join(dir, "whole.so"), filepath.Join(dir, "stripped.so")
	if err := os.WriteFile(source, []byte(labelSource), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{testneed.Tool(t, "gcc"), "-shared", "-nostdlib", "-o", whole, source},
		{testneed.Tool(t, "strip"), "-o", stripped, whole},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	at := make(map[string]uint64)
	ef, err := elf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	all, err := ef.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		at[s.Name] = s.Value
	}
	named := func(f *File, vaddr uint64) string {
		calls := f.Calls(vaddr)
		if len(calls) == 0 {
			return "nothing"
		}
		if c := calls[0]; c.Label != 0 {
			return fmt.Sprintf("%s+%d?", c.Function, vaddr-c.Label)
		}
		return calls[0].Function
	}
	check := func(what string, f *File, want map[string]string) {
		t.Helper()
		for name, w := range want {
			if got := named(f, at[name]+1); got != w {
				t.Errorf("%s: %s is named %s, want %s", what, name, got, w)
			}
		}
	}
	f, err := Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	check("with all symbols", f, map[string]string{"label": "label", "hidden1": "hidden1", "bare": "bare", "hidden2": "hidden2"})
	want := map[string]string{"label": "label", "hidden1": "nothing", "bare": "bare+1?", "hidden2": "nothing"}
	if f, err = Open(stripped); err != nil {
		t.Fatal(err)
	}
	check("stripped", f, want)
	memory, base := asLoaded(t, stripped, 0x10000)
	if f, _, err = Loaded(bytes.NewReader(memory), base, 0x10000); err != nil {
		t.Fatal(err)
	}
	check("in memory", f, want)
	if b, ok := f.FunctionBounds(at["label"] + 1); !ok || b.End != at["hidden1"] {
		t.Errorf("label ends at %#x, want %#x", b.End, at["hidden1"])
	}
}
