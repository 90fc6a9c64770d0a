package symbols_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

const startsSource = `
#include <stdlib.h>
typedef int (*op)(int);
static __attribute__((noinline)) int called(int x) { volatile int a[7]; a[0] = x; return a[0] + 1; }
static __attribute__((noinline)) int pointed(int x) { volatile int a[9]; a[0] = x; return called(a[0]); }
static __attribute__((noinline)) int tailed(int x, int y) { volatile int a[5]; a[0] = x + y; return called(a[0]) + 2; }
static op ops[] = { pointed, called };
static __attribute__((noinline, noreturn)) void fails(int x) { if (x) called(x); abort(); }
int run(int x) {
	if (x < 0) fails(x);
	volatile int a[3]; a[0] = x;
	int y = ops[x & 1](called(a[0]));
	switch (x) { case 0: y += 3; break; case 1: y = called(y); break; case 2: y *= 7; break; case 3: y ^= x; break;
	case 4: y = pointed(y) + 9; break; case 5: y -= 11; break; case 6: y = called(y + 1) * 3; break; }
	return tailed(y, x);
}
typedef void *instruction;
int interpret(instruction **to, instruction *pc, int x) {
	static const instruction all[] = { &&add, &&dup, &&call, &&twice, &&end };
	volatile int stack[16]; int top = 0;
	if (!pc) { *to = (instruction *)all; return 0; }
	stack[top] = x;
	goto **pc++;
add: top--; stack[top] += stack[top + 1]; goto **pc++;
dup: top++; stack[top] = stack[top - 1]; goto **pc++;
call: stack[top] = called(stack[top]); goto **pc++;
twice: stack[top] = pointed(stack[top]) * 2; goto **pc++;
end: return stack[top];
}
`

// TestModelOfStrippedCode: functions of a library without symbols and call-frame information
// are found, and their frames; that of an interpreter whose labels are listed in data, at every instruction.
func TestModelOfStrippedCode(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	cc := testneed.Tool(t, "gcc")
	testneed.Tool(t, "objcopy")
	for name, flags := range map[string][]string{
		"plain":  nil,
		"thunks": {"-mindirect-branch=thunk-inline", "-mfunction-return=thunk-inline", "-fcf-protection=none"},
	} {
		t.Run(name, func(t *testing.T) { modelOfStrippedCode(t, append([]string{cc, "-O2", "-fPIC", "-shared"}, flags...)) })
	}
}

func modelOfStrippedCode(t *testing.T, compile []string) {
	dir := t.TempDir()
	source, full, stripped := filepath.Join(dir, "a.c"), filepath.Join(dir, "full.so"), filepath.Join(dir, "stripped.so")
	if err := os.WriteFile(source, []byte(startsSource), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		append(compile, "-o", full, source),
		{"objcopy", "--strip-all", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", full, stripped},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	truth, err := elf.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer truth.Close()
	all, err := truth.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	f, err := symbols.Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	starts := make(map[uint64]codemodel.Start)
	for _, s := range f.Model().Starts() {
		starts[s.Addr] = s
	}
	known := 0
	for _, s := range all {
		want, ok := map[string]codemodel.Source{"run": codemodel.Symbol, "interpret": codemodel.Symbol, "called": codemodel.Call, "pointed": codemodel.Call, "tailed": codemodel.TailCall, "fails": codemodel.Call}[s.Name]
		if !ok {
			continue
		}
		known++
		if got := starts[s.Value]; got.Addr == 0 || got.Part || got.Source != want || got.Grade < prologue.Some {
			t.Errorf("%s at %#x: %+v, want %v", s.Name, s.Value, got, want)
		}
		fn := f.Model().At(s.Value + 1)
		if fn == nil || fn.Start != s.Value {
			t.Errorf("%s: %+v is there", s.Name, fn)
			continue
		}
		if s.Name == "interpret" {
			everywhere(t, fn, f.Code(s.Value, int(s.Size)))
		}
		if place, ok := fn.At(s.Value); !ok || place.Proof < prologue.Some || place.Rule.CFA != rule.In(unwind.AMD64RSP, 8) {
			t.Errorf("%s: %+v", s.Name, place)
		}
	}
	if known != 6 {
		t.Errorf("%d functions", known)
	}
	for _, s := range starts { // crt code has no functions but these
		if !hasFunction(all, s.Addr) && !s.Part && s.Source != codemodel.Symbol && s.Source != codemodel.Entry && s.Source != codemodel.TailCall {
			t.Errorf("no function begins at %#x (%v)", s.Addr, s.Source)
		}
	}
}

// everywhere demands a rule at each instruction, but in loops that keep speculation.
func everywhere(t *testing.T, fn *codemodel.Function, code []byte) {
	t.Helper()
	code = bytes.ReplaceAll(code, []byte{0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9}, bytes.Repeat([]byte{0x90}, 7)) // pause; lfence; jmp back
	var d prologue.Decoder
	for at := 0; at < len(code); {
		pc := fn.Start + uint64(at)
		if place, ok := fn.At(pc); prologue.Padding(unwind.AMD64, code[at:]) == 0 && (!ok || place.Proof < prologue.Some) {
			t.Errorf("%#x of %#x-%#x: no rule", pc, fn.Start, fn.End)
		}
		at += max(d.AMD64(code[at:], pc).Len, 1)
	}
}

func hasFunction(all []elf.Symbol, addr uint64) bool {
	for _, s := range all {
		if s.Value == addr && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			return true
		}
	}
	return false
}
