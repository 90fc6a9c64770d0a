package frames

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// bodyWriter writes a stackTrace body as Delve does, row by row.
type bodyWriter struct {
	body []byte
	rows int
}

// row appends a row that consists of parts.
func (w *bodyWriter) row(parts ...[]byte) {
	if w.rows > 0 {
		w.body = append(w.body, ',')
	}
	w.rows++
	for _, p := range parts {
		w.body = append(w.body, p...)
	}
}

// newBody begins a body for so many rows.
func newBody(rows int) bodyWriter {
	const usual = 256 // bytes of a row
	return bodyWriter{body: append(make([]byte, 0, 64+usual*rows), `{"stackFrames":[`...)}
}

// end ends the body.
func (w *bodyWriter) end(total int) []byte {
	w.body = append(append(w.body, ']'), fieldTotal...)
	return append(strconv.AppendInt(w.body, int64(total), 10), '}')
}

// rowWriter writes the rows of a stack. What follows a frame's ID is made once for all frames of
// a recursion.
type rowWriter struct {
	bodyWriter
	session
	shown debuggee.Settings
	words map[wording]*words
}

// wording is what the words of a frame depend on.
type wording struct {
	pc                           uint64
	function, file, image, group string
	line, column                 int
	trust                        unwind.Trust
	tailCall                     bool
	remark                       string
}

// words are a frame's row but for its ID.
type words struct {
	json  []byte // of a [dap.StackFrame], behind the ID
	faint bool
}

// unnumbered begins a [dap.StackFrame] without an ID.
const unnumbered = internals.FrameStart + "0"

// wordsOf returns the words for a frame.
func (w *rowWriter) wordsOf(f *unwind.Frame, remark string) (*words, error) {
	key := wording{f.PC.Raw(), f.Function, f.File, f.Image, f.Group, f.Line, f.Column, f.Trust, f.TailCall, remark}
	if made := w.words[key]; made != nil {
		return made, nil
	}
	described := w.describe(f, w.shown.Names)
	described.Name += remark
	raw, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	made := &words{raw[len(unnumbered):], isFaint(f)}
	if w.words == nil {
		w.words = make(map[wording]*words)
	}
	w.words[key] = made
	return made, nil
}

// describe returns a frame's name, place and address.
func (w *rowWriter) describe(f *unwind.Frame, style names.Style) dap.StackFrame {
	out := dap.StackFrame{Name: frameName(f, style), InstructionPointerReference: fmt.Sprintf("%#x", f.PC.Raw())}
	if source := w.program.Config.Source(f.File, f.Image); source != nil {
		out.Source, out.Line, out.Column = source, f.Line, f.Column
	}
	if isFaint(f) || f.TailCall || strings.HasPrefix(f.Function, "runtime.") {
		out.PresentationHint = "subtle"
	}
	return out
}

// write writes a row.
func (w *rowWriter) write(v *view, a *assembled, delveID int64, r *row) error {
	if r.label != "" {
		return w.label(v, a, r)
	}
	f, remark := &a.stack.Frames[r.frame], a.remark(r.frame, w.shown.Annotate)
	if f.DelveFrame >= 0 {
		if known, ok := v.delve[delveID][f.DelveFrame]; ok && known.pc == f.PC.Raw() {
			w.ids.rememberOne(v.At.Epoch, known.id, Ref{a, r.frame})
			return w.known(known, f, v.IsGo(f), remark)
		}
	}
	id, err := w.idOf(v, a.ids[r.frame], Ref{a, r.frame})
	if err != nil {
		return err
	}
	a.ids[r.frame] = id
	return w.inWords(int64(id), f, remark)
}

func (w *rowWriter) label(v *view, a *assembled, r *row) error {
	id, err := w.idOf(v, a.labels[r.frame], Ref{a, -1})
	if err != nil {
		return err
	}
	a.labels[r.frame] = id
	raw, err := json.Marshal(dap.StackFrame{Id: id, Name: r.label, PresentationHint: "label"})
	w.row(raw)
	return err
}

// idOf returns the ID that a row has, or a new one where that is 0.
func (w *rowWriter) idOf(v *view, id int, ref Ref) (int, error) {
	if id != 0 {
		return id, nil
	}
	return w.ids.mint(v.At.Epoch, ref)
}

// unknownName is Delve's name for a function that it does not know.
const unknownName = "???"

// known writes a frame that Delve knows: Go code in Delve's words, other code in those of
// `clew stack`.
func (w *rowWriter) known(known delveFrame, f *unwind.Frame, isGo bool, remark string) error {
	named := f.Function != "" || f.Image != "" || f.Group != ""
	if named && (!isGo || known.isNamed(unknownName)) {
		return w.inWords(known.id, f, remark)
	}
	clews, err := w.wordsOf(f, remark)
	if err == nil && (remark != "" || clews.faint) {
		return w.changed(known, clews.faint, remark)
	}
	w.row(known.raw)
	return err
}

// changed writes a frame in Delve's words, with a remark and a hint.
func (w *rowWriter) changed(known delveFrame, faint bool, remark string) error {
	o, err := dapwire.ParseObject(known.raw)
	if err != nil {
		return err
	}
	if faint {
		o.Set("presentationHint", []byte(`"subtle"`))
	}
	name, err := json.Marshal(o.Text("name") + remark)
	if err != nil {
		return err
	}
	o.Set("name", name)
	w.row(o.Bytes())
	return nil
}

// inWords writes a frame in the words of `clew stack`.
func (w *rowWriter) inWords(id int64, f *unwind.Frame, remark string) error {
	made, err := w.wordsOf(f, remark)
	if err == nil {
		var digits [20]byte
		w.row([]byte(internals.FrameStart), strconv.AppendInt(digits[:0], id, 10), made.json)
	}
	return err
}
