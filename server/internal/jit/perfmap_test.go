package jit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPerfMap(t *testing.T) {
	text := "1000 20 first\n" +
		"no line\n" +
		"1020 0 empty\n" +
		"1020 zz bad\n" +
		"1040 10\n" +
		"ffffffffffffffff 2 wraps\n" +
		"0x2000 0x10 with 0x and blanks \n" +
		strings.Repeat("a", 1<<17) + "\n" +
		"3000 10 " + strings.Repeat("n", 10_000) + "\n" +
		"4000 10 unfinished"
	symbols, err := ReadPerfMap(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Symbol{{0x1000, 0x1020, "first"}, {0x2000, 0x2010, "with 0x and blanks "}, {0x3000, 0x3010, strings.Repeat("n", maxName)}}
	if fmt.Sprint(symbols) != fmt.Sprint(want) {
		t.Errorf("%v", symbols)
	}
}

// TestOverlaps compares with a map of every address.
func TestOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var symbols []Symbol
		var naive [64]int
		for i := range rapid.IntRange(0, 20).Draw(t, "symbols") {
			start := rapid.Uint64Range(0, 50).Draw(t, "start")
			end := start + rapid.Uint64Range(0, 13).Draw(t, "size")
			symbols = append(symbols, Symbol{start, end, fmt.Sprint(i + 1)})
			for a := start; a < end; a++ {
				naive[a] = i + 1
			}
		}
		n := NewNames(symbols)
		for a, want := range naive {
			s, ok := n.Find(uint64(a))
			if got := s.Name; ok != (want > 0) || ok && got != fmt.Sprint(want) {
				t.Fatalf("%v: address %d: %q, want %d", symbols, a, got, want)
			}
		}
	})
}

func TestManySymbols(t *testing.T) {
	var symbols []Symbol
	for i := range uint64(200_000) {
		symbols = append(symbols, Symbol{i, 1 << 40, "x"}) // all overlap
	}
	start := time.Now()
	n := NewNames(symbols)
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("%v for %d symbols", d, len(symbols))
	}
	if s, ok := n.Find(5); !ok || s.Start != 5 {
		t.Errorf("%+v, %v", s, ok)
	}
}

// TestOpenRegular: a pipe is refused at once, though opening it would wait.
func TestOpenRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "perf-1.map")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenRegular("/", pipe); err == nil {
		f.Close()
		t.Error("a pipe was opened")
	}
	root := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "perf-3.map")); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenRegular(root, "/perf-3.map"); err == nil {
		f.Close()
		t.Error("a link led out of the root")
	}
	file := filepath.Join(t.TempDir(), "perf-2.map")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRegular("/", file)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
