package gotab_test

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
)

func TestModuleGivesRuntimeText(t *testing.T) {
	needAMD64(t)
	eachProgram(t, func(t *testing.T, b testprog.Build, f *elf.File, s placed) {
		table, m := textOf(t, f, s)
		if b.Stripped() {
			// The entry point of an internally linked program, and main.main in any,
			// must be the first instruction of a function.
			if !b.Cgo {
				if fn, ok := table.Func(f.Entry); !ok || fn.Entry != f.Entry {
					t.Errorf("entry point %#x is inside %s at %#x", f.Entry, fn.Name(), fn.Entry)
				}
			}
			return
		}
		if want := symbol(f, "runtime.text"); m.Text != want {
			t.Errorf("text %#x, want runtime.text at %#x", m.Text, want)
		}
		if want := symbol(f, "go:func.*"); m.GoFunc != want {
			t.Errorf("go:func.* %#x, want %#x", m.GoFunc, want)
		}
		if text := f.Section(".text").Addr; b.Cgo && text == m.Text {
			t.Errorf("runtime.text is .text's start %#x: the case of C code in front is not tested", text)
		}
	})
}

func TestFunctionsAgainstGosym(t *testing.T) {
	needAMD64(t)
	eachProgram(t, func(t *testing.T, b testprog.Build, f *elf.File, s placed) {
		table, m := textOf(t, f, s)
		truth, err := gosym.NewTable(nil, gosym.NewLineTable(s.data, m.Text))
		if err != nil {
			t.Fatal(err)
		}
		if len(truth.Funcs) < 1000 || table.Len() != len(truth.Funcs) {
			t.Fatalf("%d functions, gosym has %d", table.Len(), len(truth.Funcs))
		}
		for i, want := range truth.Funcs {
			fn, ok := table.At(i)
			if !ok || fn.Entry != want.Entry || fn.End != want.End || fn.Name() != want.Name {
				t.Fatalf("function %d: %#x-%#x %s, want %#x-%#x %s", i, fn.Entry, fn.End, fn.Name(), want.Entry, want.End, want.Name)
			}
			for pc := fn.Entry; pc < fn.End; pc += 1 + (fn.End-fn.Entry)/16 {
				if got, ok := table.Func(pc); !ok || got != fn {
					t.Fatalf("Func(%#x) is %s, want %s", pc, got.Name(), fn.Name())
				}
				file, line, _ := truth.PCToLine(pc)
				gotFile, gotLine, ok := fn.FileLine(pc)
				if ok && (gotFile != file || gotLine != line) || !ok && line > 0 {
					t.Fatalf("FileLine(%#x) in %s is %s:%d %v, want %s:%d", pc, fn.Name(), gotFile, gotLine, ok, file, line)
				}
			}
		}
		start, end := table.Bounds()
		for _, pc := range []uint64{0, start - 1, end, ^uint64(0)} {
			if fn, ok := table.Func(pc); ok {
				t.Errorf("Func(%#x) is %s, want none", pc, fn.Name())
			}
		}
		checkFlags(t, table)
	})
}

func checkFlags(t *testing.T, table *gotab.Table) {
	want := map[string]gotab.Flag{
		"runtime.goexit":      gotab.FlagTopFrame | gotab.FlagAsm,
		"runtime.rt0_go":      gotab.FlagTopFrame | gotab.FlagSPWrite | gotab.FlagAsm,
		"runtime.mcall":       gotab.FlagSPWrite | gotab.FlagAsm,
		"runtime.systemstack": gotab.FlagSPWrite | gotab.FlagAsm,
		"main.main":           0,
	}
	for i := range table.Len() {
		fn, _ := table.At(i)
		flag, ok := want[strings.TrimSuffix(fn.Name(), ".abi0")]
		if !ok {
			continue
		}
		delete(want, fn.Name())
		if !fn.NameIs(fn.Name()) || fn.NameIs("x") {
			t.Errorf("NameIs and Name differ for %s", fn.Name())
		}
		// Older Go marks fewer of them; its marks must be right.
		if fn.Flag&flag != fn.Flag || fn.Flag == 0 && flag != 0 {
			t.Errorf("%s has flags %b, want %b", fn.Name(), fn.Flag, flag)
		}
	}
	for name := range want {
		t.Errorf("no function %s", name)
	}
}

func TestSPDeltaAgainstDebugFrame(t *testing.T) {
	needAMD64(t)
	eachProgram(t, func(t *testing.T, b testprog.Build, f *elf.File, s placed) {
		if b.Stripped() {
			return // no .debug_frame; the tables are those of the build with symbols
		}
		table, _ := textOf(t, f, s)
		rows, err := goDebugFrame(contents(t, f.Section(".debug_frame")))
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) < 5000 {
			t.Fatalf("only %d rows of CFI", len(rows))
		}
		for _, row := range rows {
			fn, ok := table.Func(row.start)
			if !ok {
				t.Fatalf("no function at %#x", row.start)
			}
			for _, pc := range []uint64{row.start, row.end - 1} {
				delta, ok := fn.SPDelta(pc)
				if !ok || int64(delta)+8 != row.offset {
					t.Fatalf("%s at %#x: SP delta %d %v, CFA is SP+%d", fn.Name(), pc, delta, ok, row.offset)
				}
			}
		}
	})
}

// funcData returns go:func.* of a program.
func funcData(t *testing.T, f *elf.File, m gotab.Module) []byte {
	t.Helper()
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && m.GoFunc >= s.Addr && m.GoFunc < s.Addr+s.Size {
			return contents(t, s)[m.GoFunc-s.Addr:]
		}
	}
	t.Fatal("no function data")
	return nil
}

// checkLies changes the inlined call at an address: what cannot be is refused by name, and the physical function stays, without a line.
func checkLies(t *testing.T, table *gotab.Table, data []byte) {
	fn, calls := twoInlined(t, table)
	pc := calls[0].PC
	word := func(n uint64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	record := slices.Concat(word(calls[1].PC-fn.Entry), word(uint64(calls[0].StartLine)))
	for name, lie := range map[string]struct {
		caller uint64
		want   string
	}{
		"its own caller":       {pc - fn.Entry, "is its own caller"},
		"a caller behind it":   {fn.End - fn.Entry, "is made outside the function"},
		"a caller in front":    {^uint64(0), "is made outside the function"},
		"the physical as told": {calls[1].PC - fn.Entry, ""},
	} {
		t.Run(name, func(t *testing.T) {
			lying := slices.Clone(data)
			for at := 0; ; at += len(record) {
				i := bytes.Index(lying[at:], record)
				if i < 0 {
					break
				}
				at += i
				copy(lying[at:], word(lie.caller))
			}
			at, _ := table.WithFuncData(lying).Func(pc)
			got, err := at.Calls(pc)
			var refused *gotab.InlineError
			switch {
			case lie.want == "":
				if err != nil || !slices.Equal(got, calls) {
					t.Errorf("%+v, %v", got, err)
				}
			case !errors.As(err, &refused) || refused.Reason != lie.want || len(got) != 1 || got[0].Name != fn.Name() || got[0].Line != 0 || got[0].File != "":
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// twoInlined finds an address with two calls inlined into each other.
func twoInlined(t *testing.T, table *gotab.Table) (gotab.Func, []gotab.Call) {
	t.Helper()
	for i := range table.Len() {
		fn, _ := table.At(i)
		for pc := fn.Entry; pc < fn.End; pc++ {
			if calls, err := fn.Calls(pc); err == nil && len(calls) == 3 && calls[0].StartLine != calls[1].StartLine {
				return fn, calls
			}
		}
	}
	t.Fatal("nothing is inlined")
	return gotab.Func{}, nil
}

// The truth for inlined calls is the runtime's own answer, in the test binary.
func TestCallsAgainstRuntime(t *testing.T) {
	needAMD64(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, m := textOf(t, f, findTable(t, f))
	data := funcData(t, f, m)
	table = table.WithFuncData(data)
	t.Run("lies", func(t *testing.T) { checkLies(t, table, data) })
	// The test binary may be position-independent: find its load bias.
	live := uint64(funcAddress(t))
	var bias uint64
	found := false
	for i := range table.Len() {
		if fn, _ := table.At(i); fn.NameIs("github.com/clewdbg/clew/server/symbols/gotab_test.funcAddress") {
			bias, found = live-fn.Entry, true
		}
	}
	if !found {
		t.Fatal("own function not found")
	}
	compared, inlined := 0, 0
	for i := range table.Len() {
		fn, _ := table.At(i)
		for pc := fn.Entry; pc < fn.End; pc += 1 + (fn.End-fn.Entry)/8 {
			if _, ok := fn.SPDelta(pc); !ok {
				continue // padding, or a marker of the linker's
			}
			if pc+1 == fn.End {
				continue // the return address behind it is the next function's, and the runtime names that
			}
			got, err := fn.Calls(pc)
			if err != nil {
				t.Fatal(err)
			}
			for level, c := range got {
				// The runtime shortens type arguments, and does not know the name of
				// the very first function.
				if strings.Contains(c.Name, "[") || i == 0 && !c.Inlined {
					continue
				}
				want := runtimeFrame(uintptr(c.PC + bias))
				if c.Name != want.Function || c.File != want.File || c.Line != want.Line {
					t.Fatalf("%#x level %d: %+v, the runtime says %+v", pc, level, c, want)
				}
				compared++
				if c.Inlined {
					inlined++
				}
			}
			if last := got[len(got)-1]; last.Inlined || last.Name != fn.Name() || got[0].PC != pc {
				t.Fatalf("%#x: the last call is %+v, want the physical function %s", pc, last, fn.Name())
			}
		}
	}
	if compared < 10_000 || inlined < 1000 {
		t.Errorf("only %d calls compared, %d of them inlined", compared, inlined)
	}
}

// runtimeFrame is the innermost level at pc. CallersFrames takes return
// addresses, and does not expand inlined calls itself: runtime.Callers passes it
// a PC for each.
func runtimeFrame(pc uintptr) runtime.Frame {
	fr, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next()
	return fr
}

//go:noinline
func funcAddress(t *testing.T) uintptr {
	pc, _, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller")
	}
	return runtime.FuncForPC(pc).Entry()
}

func TestLookupsDoNotAllocate(t *testing.T) {
	needAMD64(t)
	f, err := elf.Open(testprog.Build{Name: "plain"}.Make(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, _ := textOf(t, f, findTable(t, f))
	pc := f.Entry
	if n := testing.AllocsPerRun(100, func() {
		fn, ok := table.Func(pc)
		if _, ok2 := fn.SPDelta(pc); !ok || !ok2 || fn.NameIs("main.main") {
			t.Fatal("lookup failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations a lookup", n)
	}
}

// Cross-built programs, read on any machine.
func TestOtherArchitectures(t *testing.T) {
	for _, arch := range []string{"arm64", "s390x", "386"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			f, err := elf.Open(testprog.Build{Name: arch, Env: []string{"GOOS=linux", "GOARCH=" + arch}}.Make(t))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s := f.Section(".gopclntab")
			table, err := gotab.Parse(contents(t, s), symbol(f, "runtime.text"), f.ByteOrder)
			if err != nil {
				t.Fatal(err)
			}
			// The symbol table is another part of the linker's output: names and
			// entries must agree with it, and a function's SP delta starts at 0.
			syms, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, sym := range syms {
				if elf.ST_TYPE(sym.Info) != elf.STT_FUNC || sym.Size == 0 {
					continue
				}
				fn, ok := table.Func(sym.Value)
				if !ok || !fn.HasTables() { // go:textfipsstart and such are markers
					continue
				}
				delta, ok := fn.SPDelta(fn.Entry)
				if fn.Entry != sym.Value || !strings.HasPrefix(sym.Name, strings.ReplaceAll(fn.Name(), "·", ".")) || !ok || delta != 0 {
					t.Fatalf("%s at %#x: found %s at %#x, SP delta %d %v", sym.Name, sym.Value, fn.Name(), fn.Entry, delta, ok)
				}
				if _, ok := fn.SPDelta(sym.Value + sym.Size - uint64(table.Quantum())); !ok {
					t.Fatalf("%s: no SP delta at its last instruction", fn.Name())
				}
				seen++
			}
			if seen < 1000 {
				t.Errorf("only %d functions compared", seen)
			}
		})
	}
}
