package frames

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// row is one row of a stack as the client shows it: a frame, the first frame of a group
// that one row stands for, or a label between frames.
type row struct {
	frame int    // index into the stack's frames; of a label, of the frame after it
	label string // "" for a frame
}

// rows lays out a stack.
func (a *assembled) rows(annotate debuggee.Annotate) []row {
	out := make([]row, 0, len(a.stack.Frames)+4)
	weakness := 0
	for i := range a.stack.Frames {
		f := &a.stack.Frames[i]
		w := weaknessOf(f.Trust)
		if i > 0 && f.SameRow(&a.stack.Frames[i-1]) {
			weakness = w
			continue
		}
		if w > weakness && annotate == debuggee.AnnotateLabels {
			out = append(out, row{i, fmt.Sprintf("-- %s --", evidence(f))})
		}
		weakness = w
		out = append(out, row{frame: i})
	}
	if annotate == debuggee.AnnotateLabels && a.cutOff() {
		out = append(out, row{len(a.stack.Frames), fmt.Sprintf("-- truncated: %s --", a.stack.Reason)})
	}
	return out
}

// cutOff reports whether the stack ends before its outermost frame, for another reason
// than the number of frames that the client wanted.
func (a *assembled) cutOff() bool {
	return a.stack.Stop == unwind.Truncated && !a.stack.DepthLimited
}

// weaknessOf orders evidence, 0 for what is as good as certain.
func weaknessOf(t unwind.Trust) int {
	switch t {
	case unwind.TrustContext, unwind.TrustCFI:
		return 0
	case unwind.TrustFramePointer:
		return 1
	}
	return 2
}

// evidence names the evidence for a frame.
func evidence(f *unwind.Frame) string {
	switch weaknessOf(f.Trust) {
	case 0:
		return "by call-frame information (" + f.Strategy + ")"
	case 1:
		return "by frame pointer (" + f.Strategy + ")"
	}
	return "found by scanning the stack (" + f.Strategy + "): may be wrong"
}

// frame writes a row as JSON. A frame that Delve knows is Delve's, in clew's words.
func (s *Stacks) frame(v *view, a *assembled, delveID int64, r *row, shown debuggee.Settings) (json.RawMessage, error) {
	if r.label != "" {
		id, err := s.idOf(v, a.labels[r.frame], Ref{a, -1})
		if err != nil {
			return nil, err
		}
		a.labels[r.frame] = id
		return json.Marshal(dap.StackFrame{Id: id, Name: r.label, PresentationHint: "label"})
	}
	f, remark := &a.stack.Frames[r.frame], a.remark(r.frame, shown.Annotate)
	if f.DelveFrame >= 0 {
		if known, ok := v.delve[delveID][f.DelveFrame]; ok && known.pc == f.PC.Raw() {
			s.ids.rememberOne(v.At.Epoch, known.id, Ref{a, r.frame})
			return s.inWords(known, f, v.IsGo(f), shown.Names, remark)
		}
	}
	id, err := s.idOf(v, a.ids[r.frame], Ref{a, r.frame})
	if err != nil {
		return nil, err
	}
	a.ids[r.frame] = id
	described := s.describe(f, shown.Names)
	described.Id = id
	described.Name += remark
	return json.Marshal(described)
}

// idOf returns the ID that a row has, or a new one where that is 0.
func (s *Stacks) idOf(v *view, id int, ref Ref) (int, error) {
	if id != 0 {
		return id, nil
	}
	return s.ids.mint(v.At.Epoch, ref)
}

// describe returns a frame's name, place and address.
func (s *Stacks) describe(f *unwind.Frame, style names.Style) dap.StackFrame {
	out := dap.StackFrame{Name: frameName(f, style), InstructionPointerReference: fmt.Sprintf("%#x", f.PC.Raw())}
	if path := s.program.Config.ClientPath(f.File); IsAbsolute(path) { // or an editor opens a page that says there is no such file
		out.Source, out.Line, out.Column = &dap.Source{Name: filepath.Base(path), Path: path}, f.Line, f.Column
	}
	if isFaint(f) || f.TailCall || strings.HasPrefix(f.Function, "runtime.") {
		out.PresentationHint = "subtle"
	}
	return out
}

// isFaint says whether a row is not what the user looks for: a guess, or glue between Go and
// C. Editors show it in grey, or fold it.
func isFaint(f *unwind.Frame) bool {
	return weaknessOf(f.Trust) > 1 || stepping.IsGlue(f.Function, f.File)
}

// frameName is a frame's function as Delve names it, without the path of its
// package, else the image and offset.
func frameName(f *unwind.Frame, style names.Style) string {
	if name := style.Frame(f); name != "" {
		return shortName(name)
	}
	return fmt.Sprintf("%#x", f.PC.Raw())
}

// shortName drops the folders of a Go function's package: those before the first
// parenthesis or bracket, which may hold types with paths of their own. A name
// of C or C++ has a slash nowhere but in "operator/".
func shortName(function string) string {
	end := len(function)
	if i := strings.IndexAny(function, "([<"); i >= 0 {
		end = i
	}
	if i := strings.LastIndexByte(function[:end], '/'); i > 0 && !strings.HasSuffix(function[:i], "operator") {
		return function[i+1:]
	}
	return function
}

// remark is the text on its evidence that a frame's name ends with, where the session
// wants that in names.
func (a *assembled) remark(i int, annotate debuggee.Annotate) string {
	if annotate != debuggee.AnnotateNames {
		return ""
	}
	s := ""
	if f := &a.stack.Frames[i]; weaknessOf(f.Trust) > 0 {
		s = " [" + evidence(f) + "]"
	}
	if i+1 == len(a.stack.Frames) && a.cutOff() {
		s += " [truncated: " + a.stack.Reason + "]"
	}
	return s
}

// inWords returns a frame of Delve's in the words of `clew stack`. For Go code they are
// Delve's own.
func (s *Stacks) inWords(known delveFrame, f *unwind.Frame, isGo bool, style names.Style, remark string) (json.RawMessage, error) {
	if names.StyleFull.Frame(f) != "" && (!isGo || known.isNamed(unknownName)) {
		if described := s.describe(f, style); isFaint(f) || !known.agrees(&described) {
			described.Id = int(known.id)
			described.Name += remark
			return json.Marshal(described)
		}
	}
	faint := isFaint(f)
	if remark == "" && !faint {
		return known.raw, nil
	}
	o, err := dapwire.ParseObject(known.raw)
	if err != nil {
		return nil, err
	}
	if faint {
		o.Set("presentationHint", []byte(`"subtle"`))
	}
	name, err := json.Marshal(o.Text("name") + remark)
	if err != nil {
		return nil, err
	}
	o.Set("name", name)
	return o.Bytes(), nil
}

// agrees reports whether Delve has a frame's name and place as clew has them.
func (f *delveFrame) agrees(described *dap.StackFrame) bool {
	if !bytes.Contains(f.raw, []byte(`"name":"`+described.Name+`"`)) {
		return false // as a rule, and known without reading the whole: Delve writes C.f
	}
	var shown dap.StackFrame
	if json.Unmarshal(f.raw, &shown) != nil || shown.Name != described.Name || shown.Line != described.Line || shown.Column != described.Column {
		return false
	}
	path := func(s *dap.Source) string {
		if s == nil {
			return ""
		}
		return s.Path
	}
	return path(shown.Source) == path(described.Source)
}

// unknownName is Delve's name for a function that it does not know.
const unknownName = "???"

// IsAbsolute says whether a path is absolute on the client's system, whichever that is (/a/b, C:\a\b, \\server\a).
// Debug information of libc has paths within its source tree only.
func IsAbsolute(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive || strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`)
}
