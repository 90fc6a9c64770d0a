package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPicture: the picture in the README shows what the demo prints today.
func TestPicture(t *testing.T) {
	testneed.Ptrace(t)
	testneed.CC(t)
	kept, err := os.ReadFile(filepath.Join("..", "..", picturePath))
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := draw()
	if err != nil {
		t.Fatal(err)
	}
	if want, got := steady(kept), steady(drawn); want != got {
		t.Errorf("docs/demo.svg is another picture than\n%s\nMake it anew: go run ./integration/picture", got)
	}
}

var (
	compiler = regexp.MustCompile(`C code \(.*\)`)
	numbers  = regexp.MustCompile(`0x[0-9a-f]+|_[0-9a-f]{12}_|\d+`)
	blanks   = regexp.MustCompile(` +|-+`)
)

// steady leaves out what differs from machine to machine: addresses, lines of Go's
// sources, and the widths that follow from them.
func steady(picture []byte) string {
	text := compiler.ReplaceAll(picture, []byte("C code"))
	return string(blanks.ReplaceAll(numbers.ReplaceAll(text, []byte("N")), []byte(" ")))
}

// TestClass: lines have the colours of what they say.
func TestClass(t *testing.T) {
	for line, want := range map[string]string{
		"   0  context  registers  0x4a0477  stop_here  src/native.c:13": "context",
		"   1  cfi      dwarfcfi   0x4a0490  whisk      src/native.c:18": "cfi",
		"   #  trust    strategy   pc        function   where":           "dim",
		"  end: runtime.goexit": "plain",
		"Delve alone shows 29 frames here, and 3 of them do not exist:": "wrong",
	} {
		if got := class(line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
