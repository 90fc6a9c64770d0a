package frames

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// TestIDs: an ID is good for its stop only.
func TestIDs(t *testing.T) {
	var f IDs
	seen := map[int]bool{}
	for epoch := uint64(1); epoch < 2*maxEpoch; epoch += 100 {
		ref := Ref{frame: int(epoch)}
		id, err := f.mint(epoch, ref)
		if err != nil || id < debuggee.FirstID || id >= 2*debuggee.FirstID || seen[id] {
			t.Fatalf("ID %d, %v", id, err)
		}
		seen[id] = true
		got, known, err := f.Find(stop.Moment{Epoch: epoch}, int64(id))
		if err != nil || !known || got != ref {
			t.Errorf("%+v, %v, %v", got, known, err)
		}
		var stale *StaleError
		for _, wrong := range []int64{int64(id) + 1, debuggee.FirstID - 1 + 2*debuggee.FirstID, int64(id) ^ maxNumber} {
			if _, _, err := f.Find(stop.Moment{Epoch: epoch}, wrong); !errors.As(err, &stale) {
				t.Errorf("ID %d: %v", wrong, err)
			}
		}
		if _, _, err := f.Find(stop.Moment{Epoch: epoch + 1}, int64(id)); !errors.As(err, &stale) {
			t.Errorf("at the next stop: %v", err)
		}
	}
}

func TestShortName(t *testing.T) {
	for full, want := range map[string]string{
		"main.main":                          "main.main",
		"github.com/a/b.(*T).m":              "b.(*T).m",
		"github.com/a/b.F[github.com/c/d.T]": "b.F[github.com/c/d.T]",
		"golang.org/x/sys/unix.Read":         "unix.Read",
		"operator/(A, B)":                    "operator/(A, B)",
		"std::vector<a/b>::at":               "std::vector<a/b>::at",
		"leaf":                               "leaf",
	} {
		if got := shortName(full); got != want {
			t.Errorf("%s becomes %s, want %s", full, got, want)
		}
	}
}

// TestRowsOfGroups: one row stands for the frames of a group, and no label lies within.
func TestRowsOfGroups(t *testing.T) {
	a := &assembled{stack: unwind.Stack{Stop: unwind.End}}
	for i, group := range []string{"", "g", "g", "g", ""} {
		trust := unwind.TrustCFI
		if i == 2 || i == 3 {
			trust = unwind.TrustScan
		}
		a.stack.Frames = append(a.stack.Frames, unwind.Frame{Group: group, Trust: trust})
	}
	if got, want := a.rows(debuggee.AnnotateLabels), []row{{frame: 0}, {frame: 1}, {frame: 4}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if name := frameName(&a.stack.Frames[1], names.StyleFull); name != "g" {
		t.Errorf("%q", name)
	}
}

// TestFramesIn reads frames out of Delve's JSON, names that look like fields
// included.
func TestFramesIn(t *testing.T) {
	frames := []json.RawMessage{
		[]byte(`{"id":1000,"name":"a{\"id\":5","line":1,"column":0,"instructionPointerReference":"0x4a"}`),
		[]byte(`{"id":1001,"name":"b","source":{"name":"???","path":"\"instructionPointerReference\":\"0x1\""},"line":2,"column":0,"instructionPointerReference":"0xffffffffffffffff","presentationHint":"subtle"}`),
		[]byte(`{"id":1002,"name":"???","line":0,"column":0,"instructionPointerReference":"0x0"}`),
	}
	w := newBody(0)
	for _, f := range frames {
		w.row(f)
	}
	body := w.end(52)
	if !json.Valid(body) {
		t.Fatalf("%s", body)
	}
	got, ok := framesIn(body)
	if !ok || len(got) != len(frames) {
		t.Fatalf("%+v, %v", got, ok)
	}
	pcs, unnamed := []uint64{0x4a, 1<<64 - 1, 0}, []bool{false, false, true}
	for i, f := range got {
		if f.id != int64(1000+i) || f.pc != pcs[i] || string(f.raw) != string(frames[i]) || f.isNamed(unknownName) != unnamed[i] {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
	total, ok := withTotal(body, 7)
	if !ok || string(total) != strings.Replace(string(body), "52}", "7}", 1) {
		t.Errorf("%s, %v", total, ok)
	}
	for _, wrong := range []string{
		``, `{}`, `{"stackFrames":null,"totalFrames":1}`, `{"stackFrames":[{"id":1000}],"totalFrames":1}`, `{"stackFrames":[{"id":1,"instructionPointerReference":"0x1"}]}`,
		`{"stackFrames":[{"id":1,"instructionPointerReference":"0xzz"}],"totalFrames":1}`, `{"stackFrames":[{"id":x,"instructionPointerReference":"0x1"}],"totalFrames":1}`,
		`{"stackFrames":[{"id":1,"instructionPointerReference":"0x1"} {"id":2,"instructionPointerReference":"0x1"}],"totalFrames":1}`,
		`{"stackFrames":[{"id":1,"instructionPointerReference":"0x10000000000000000"}],"totalFrames":1}`, `,"totalFrames":`, `{"id":],"totalFrames":`,
	} {
		if _, ok := framesIn([]byte(wrong)); ok {
			t.Errorf("%s is taken", wrong)
		}
	}
	for _, wrong := range []string{``, `{}`, `{"a":1,"totalFrames":1,"b":2}`, `{"a":1,"totalFrames":-1}`} {
		if _, ok := withTotal([]byte(wrong), 7); ok {
			t.Errorf("%q is taken", wrong)
		}
	}
	none := newBody(0)
	if h, ok := framesIn(none.end(0)); !ok || len(h) != 0 {
		t.Errorf("no frames: %v, %v", h, ok)
	}
}

// TestWordsOfNativeFrames: code that is not Go's has clew's words; that of Go has Delve's,
// byte by byte.
func TestWordsOfNativeFrames(t *testing.T) {
	config := debuggee.DefaultConfig()
	in := session{program: &debuggee.Program{Options: debuggee.Options{Config: &config}}}
	const delves = `{"id":1003,"name":"pick","source":{"name":"t.cc","path":"/src/t.cc"},"line":9,"column":0,"instructionPointerReference":"0x42"}`
	for _, c := range []struct {
		is, function, file string
		line, column       int
		style              names.Style
		want               string
	}{
		{"Go's", "pick<int>(int)", "/src/t.cc", 12, 0, names.StyleFull, delves},
		{"nameless", "", "", 0, 0, names.StyleFull, delves},
		{"the same", "pick", "/src/t.cc", 9, 0, names.StyleFull, delves},
		{"short", "int pick<int>(int)", "/src/t.cc", 9, 0, names.StyleShort, delves},
		{"another name", "pick<int>(int)", "/src/t.cc", 9, 0, names.StyleFull, strings.Replace(delves, `"pick"`, `"pick\u003cint\u003e(int)"`, 1)},
		{"a column", "pick", "/src/t.cc", 9, 3, names.StyleFull, strings.Replace(delves, `"column":0`, `"column":3`, 1)},
		{"another line", "pick", "/src/t.cc", 12, 4, names.StyleFull, `{"id":1003,"name":"pick","source":{"name":"t.cc","path":"/src/t.cc"},"line":12,"column":4,"instructionPointerReference":"0x42"}`},
		{"another file", "ns::pick()", "/src/u.h", 9, 0, names.StyleFull, `{"id":1003,"name":"ns::pick()","source":{"name":"u.h","path":"/src/u.h"},"line":9,"column":0,"instructionPointerReference":"0x42"}`},
	} {
		f := unwind.Frame{PC: unwind.Code(0x42, unwind.KindInstruction), Trust: unwind.TrustCFI, Function: c.function, File: c.file, Line: c.line, Column: c.column}
		w := rowWriter{session: in, shown: debuggee.Settings{Shown: debuggee.Shown{Names: c.style}}}
		err := w.known(delveFrame{raw: []byte(delves), id: 1003, pc: 0x42}, &f, c.is == "Go's", "")
		if err != nil || string(w.body) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.is, w.body, err, c.want)
		}
	}
}
