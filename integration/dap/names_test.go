package dap

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestNames: names mean what they mean in the function of the frame, pointers to bases and derived classes are converted as C++ does, and
// arithmetic is C's. What is ambiguous is refused.
func TestNames(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for name, compiler := range map[string][]string{"gcc": {testneed.Tool(t, "g++")}, "clang DWARF 4": {testneed.Tool(t, "clang++"), "-gdwarf-4"}} {
		t.Run(name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "names")
			args := append(compiler[1:], "-std=c++17", "-g", "-O0", "-o", exe, "-x", "c++", filepath.Join("testdata", "names.cc.txt"), filepath.Join("testdata", "opaque.cc.txt"))
			if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			namesIn(t, exe)
		})
	}
}

// meant are values by the function of the frame and the expression. Those with "refused" must be, with that text.
var meant = map[string]map[string]string{
	"fb":   {"count": "2", "::count": "3", "a::count": "1", "Q::count": "4", "k.k2": "20", "sizeof(K)": "8", "sizeof(a::K)": "4", "only": "5", "Q::fixed": "19"},
	"fd":   {"count": "9", "b::count": "2"},
	"fa":   {"count": "1", "sizeof(K)": "4", "sizeof(b::K)": "8", "red": "red", "inlined": "8"},
	"f":    {"count": "4", "loc": "1", "m": "7", "fixed": "19"},
	"main": {"count": "3", "a::inlined": "8", "deep::count": "9", "func::calls": "77", "a::red + 0": "4", "inlined": "8", "sizeof(K)": "refused: one of several", "*opaque": "{first = 6, second = 7}", "opaque->second": "7"},
	"func": {
		"count": "3", "calls": "77", "((D *)pa)->d": "4", "((D *)pc)->d": "4", "((D *)pb)->d": "4", "((A *)pb)->a": "1", "((A *)&d)->a": "1", "((C &)d).c": "3",
		"((MM *)pm2)->mm": "33", "static_cast<MM *>(pm2)->mm": "33", "((M2 *)&mm)->m2": "22", "mm.M1::m1": "11", "mm.m1": "44", "dynamic_cast<D *>(pa)->d": "4", "d.A::a": "1",
		"reinterpret_cast<long>(pm2) - reinterpret_cast<long>(&mm)": "8", "(long)(MM *)pm2 == (long)&mm": "true", "(M2 *)0 == nullptr": "true",
		"v[0:2]": "{1, 2}", "v.front() + v.back()": "4", "v.empty()": "false", "*it": "2", "pv->size()": "3", "*pv": "3 elements {1, 2, 3}", "&v == pv": "true",
		"s == \"text\"": "true", "s != \"text\"": "false", "cs == \"text\"": "true", "array == \"tex\"": "false", "s[1]": "101 'e'", "named[\"two\"]": "2", "named[\"three\"]": "refused: no element",
		"owned[2]": "9", "*some": `"some"`, "some.has_value()": "true", "none.has_value()": "false", "*none": "refused: holds no value", "fp == callback": "true", "several": "refused: several",
		"np": "nullptr", "7u - 8": "4294967295", "0xffffffff + 1": "0", "7 - 8": "-1", "7ul - 8": "18446744073709551615", "third / 9": "0.33333334", "third / 9.0": "0.3333333333333333",
		"1.5f * third": "4.5", "(int)2.9": "2", "(char)3e9": "refused: more than 8 bits", "third as i64": "3", "'\\xff' == -1": "true",
	},
}

func namesIn(t *testing.T, exe string) {
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	frames := make(map[string]int64)
	for _, f := range c.stack(threadOf(t, c.event("stopped")), 0, 50).StackFrames {
		name, _, _ := strings.Cut(f.Name, "(")
		frames[name[strings.LastIndex(name, ":")+1:]] = f.ID
	}
	for function, all := range meant {
		if frames[function] == 0 {
			t.Errorf("there is no frame of %s: %v", function, frames)
		}
		for expression, want := range all {
			m := c.request("evaluate", object{"expression": expression, "frameId": frames[function], "context": "watch"})
			var body struct{ Result string }
			why, refused := strings.CutPrefix(want, "refused: ")
			switch {
			case refused && (m.Success || !strings.Contains(string(m.Bytes()), why)):
				t.Errorf("%s in %s is not refused with %q: %s", expression, function, why, m.Bytes())
			case refused:
			case !m.Success || m.Decode("body", &body) != nil || body.Result != want:
				t.Errorf("%s in %s is %s, want %s", expression, function, m.Bytes(), want)
			}
		}
	}
	c.disconnect()
}
