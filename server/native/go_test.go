package native

import (
	"errors"
	"os"
	"testing"
)

// TestGoCode: nothing is said of Go's functions and lines, and all else in a Go program's code is native.
func TestGoCode(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	at := c.images.Find("testing.tRunner")
	if len(at) != 1 {
		t.Fatalf("testing.tRunner is at %#x", at)
	}
	if c.IsNative(at[0]) || c.IsNative(1) {
		t.Error("Go code, or none, is native")
	}
	if fn, ok := c.FunctionAt(at[0]); ok {
		t.Errorf("Go code is of %+v", fn)
	}
	if _, err := c.Disassemble(at[0], at[0]+16, ""); !errors.Is(err, errNotNative) {
		t.Errorf("Go code is disassembled: %v", err)
	}
	for _, name := range []string{"testing.tRunner", "tRunner", "main.main"} {
		if all := c.Functions(name); len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if places := c.Line("testing.go", 2000); len(places) > 0 {
		t.Errorf("a line of Go: %+v", places)
	}
}
