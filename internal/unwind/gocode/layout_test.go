package gocode

import (
	"encoding/hex"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// The beginnings of the functions as Go 1.26 has them on linux/amd64.
var (
	morestack = decode("64488b3c25f8ffffff488b5f30488b042448894740488d4424084889473848896f6048895750488b334839f7750ae8ed3d0000e888190000" +
		"488b73484839f7")
	systemstack = decode("554889e5488b7c241064488b0425f8ffffff488b5830483b43487465488b134839d0745d483b83b8000000755d")
	wrapper     = decode("554889e54883ec0848890424e84fbfffff450f57ff644c8b3425f8ffffff4883c4085dc3")
	asmcgocall  = append(decode("554889e564488b3c25f8ffffff4883ff0074704c8b4730498b7048488b7c2408"), depthAMD64...)
)

func decode(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func TestReadLayout(t *testing.T) {
	good := map[string][][]byte{"runtime.morestack": {morestack}, "runtime.systemstack": {systemstack, wrapper}, "runtime.asmcgocall": {asmcgocall}}
	read := func(change map[string][][]byte) (*Layout, error) {
		return ReadLayout(unwind.AMD64, func(name string) [][]byte {
			if code, ok := change[name]; ok {
				return code
			}
			return good[name]
		})
	}
	got, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The DWARF of the same runtime says so; runtime.g's stack.hi is what the code
	// of asmcgocall above has.
	want := Layout{TLS: -8, StackLo: 8, StackHi: 16, M: 48, SchedPC: 64, SchedSP: 56, SchedBP: 96, G0: 0, Gsignal: 72, Curg: 184}
	if *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	other := append([]byte(nil), systemstack...)
	other[25] = 0x50 // another m.gsignal
	for name, change := range map[string]map[string][][]byte{
		"a function is missing":    {"runtime.asmcgocall": nil},
		"a function is cut off":    {"runtime.morestack": {morestack[:40]}},
		"functions differ":         {"runtime.systemstack": {other}},
		"only the wrapper is left": {"runtime.systemstack": {wrapper}},
		"position-independent":     {"runtime.morestack": {append(decode("64488b39"), morestack[9:]...)}}, // mov %fs:(%rcx),%rdi
	} {
		if l, err := read(change); err == nil {
			t.Errorf("%s: %+v", name, *l)
		}
	}
	if _, err := ReadLayout(unwind.ARM64, func(name string) [][]byte { return good[name] }); err == nil {
		t.Error("read for another architecture")
	}
	if _, err := ReadLayout(unwind.AMD64, nil); err == nil {
		t.Error("read from nothing")
	}
}

// Whatever the code is, offsets or an error come back.
func FuzzCode(f *testing.F) {
	f.Add(morestack, systemstack, asmcgocall)
	f.Fuzz(func(_ *testing.T, a, b, c []byte) {
		for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64} {
			_, _ = ReadLayout(arch, func(name string) [][]byte {
				return map[string][][]byte{"runtime.morestack": {a}, "runtime.systemstack": {b}, "runtime.asmcgocall": {c}}[name]
			})
			_, _, _ = ReadWayBack(arch, c)
		}
	})
}
