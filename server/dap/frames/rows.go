package frames

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/dap/debuggee"
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
		w := f.Trust.Weakness()
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
	if annotate == debuggee.AnnotateLabels && a.stack.CutOff() {
		out = append(out, row{len(a.stack.Frames), fmt.Sprintf("-- truncated: %s --", a.stack.Reason)})
	}
	return out
}

// evidences name the evidence for a frame and its strategy, by weakness.
var evidences = [...]string{"by call-frame information (%s)", "by frame pointer (%s)", "found by scanning the stack (%s): may be wrong"}

// evidence names the evidence for a frame.
func evidence(f *unwind.Frame) string { return fmt.Sprintf(evidences[f.Trust.Weakness()], f.Strategy) }

// isFaint says whether a row is not what the user looks for: a guess, or glue between Go and
// C. Editors show it in grey, or fold it.
func isFaint(f *unwind.Frame) bool {
	return f.Trust.Weakness() > 1 || stepping.IsGlue(f.Function, f.File)
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
	if f := &a.stack.Frames[i]; f.Trust.Weakness() > 0 {
		s = " [" + evidence(f) + "]"
	}
	if i+1 == len(a.stack.Frames) && a.stack.CutOff() {
		s += " [truncated: " + a.stack.Reason + "]"
	}
	return s
}
