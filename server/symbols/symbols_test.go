package symbols

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// This test's own binary is a Go program: the runtime knows the truth about it.
func TestGoFunctionsOfThisBinary(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	bias := loadBias(t, f)
	pcs := make([]uintptr, 20)
	pcs = pcs[:runtime.Callers(1, pcs)]
	frames := runtime.CallersFrames(pcs)
	for {
		want, more := frames.Next()
		calls := f.Calls(uint64(want.PC) - bias)
		found := false
		for _, c := range calls {
			found = found || c.Function == want.Function && c.File == want.File && c.Line == want.Line
		}
		if !found {
			t.Errorf("%#x: %+v, want %s %s:%d", want.PC, calls, want.Function, want.File, want.Line)
		}
		if at := f.Find(want.Function); len(at) != 1 || at[0]+bias != uint64(want.Entry) {
			t.Errorf("Find(%s) = %#x, want %#x", want.Function, at, want.Entry)
		}
		if !more {
			break
		}
	}
}

// loadBias is where this test's own binary is loaded: 0 unless it is
// position-independent.
func loadBias(t *testing.T, f *File) uint64 {
	t.Helper()
	fn := runtime.FuncForPC(reflect.ValueOf(TestOpenErrors).Pointer())
	at := f.Find(fn.Name())
	if len(at) != 1 {
		t.Fatalf("Find(%s) = %#x", fn.Name(), at)
	}
	return uint64(fn.Entry()) - at[0]
}

// C functions, with lines from DWARF and bounds from the symbol table, and
// without either.
func TestCFunctions(t *testing.T) {
	cc := testneed.CC(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "p.c")
	if err := os.WriteFile(source, []byte("int twice(int n) {\n\treturn 2*n;\n}\nint main(void) {\n\treturn twice(4);\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "p")
	if out, err := exec.Command(cc, "-g", "-O0", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := Open(program)
	if err != nil {
		t.Fatal(err)
	}
	ef, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	syms, err := ef.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name != "twice" {
			continue
		}
		b, ok := f.FunctionBounds(s.Value + 1)
		if !ok || b.Name != "twice" || b.Start != s.Value || b.End != s.Value+s.Size || !b.Exact {
			t.Errorf("bounds %+v %v, want %#x+%d", b, ok, s.Value, s.Size)
		}
		if c := f.Calls(s.Value); len(c) != 1 || c[0].File != source || c[0].Line != 1 {
			t.Errorf("calls %+v", c)
		}
		if len(f.Code(s.Value, 4)) != 4 {
			t.Error("no code")
		}
		if at := f.Find("twice"); len(at) != 1 || at[0] != s.Value {
			t.Errorf("Find: %#x", at)
		}
	}
	if len(f.BuildID()) == 0 && runtime.GOOS == "linux" {
		t.Log("no build ID: the compiler's default")
	}
	stripped := filepath.Join(dir, "stripped")
	if out, err := exec.Command(cc, "-s", "-o", stripped, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Calls(ef.Entry); len(c) != 0 {
		t.Errorf("a stripped program's code has a name: %+v", c)
	}
}

func TestOpenErrors(t *testing.T) {
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "x"), "folder": t.TempDir(), "foreign": "symbols_test.go"} {
		if f, err := Open(path); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}
