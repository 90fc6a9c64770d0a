package document

import (
	"bufio"
	"encoding/hex"
	"io"
	"strconv"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// The JSON forms; see decode.schema.json. A document is written piece by piece,
// because millions of frames fit into a file of a few bytes.
type (
	// head and tail are the parts before and after the frames.
	head struct {
		Architecture string       `json:"architecture,omitempty"`
		WordSize     cbf.WordSize `json:"wordSize"`
	}
	tail struct {
		Complete bool        `json:"complete"`
		Error    *problem    `json:"error,omitempty"`
		Platform string      `json:"platform,omitempty"`
		Images   []imageForm `json:"images,omitzero"` // nil: no image map
	}
	problem struct {
		Offset  int64  `json:"offset"`
		Message string `json:"message"`
	}
	imageForm struct {
		Base      *stackjson.Address `json:"base"`
		EndOfText *stackjson.Address `json:"endOfText"`
		BuildID   string             `json:"buildID,omitempty"` // hex
		Name      pathText           `json:"name,omitempty"`
		Path      pathText           `json:"path,omitempty"`
	}
	frameForm struct {
		Kind    string             `json:"kind"`
		Address *stackjson.Address `json:"address"`
		Count   *uint64            `json:"count"`
		callForm
	}
	// callForm is the part of a frame that symbols add. A frame's inlined functions
	// come as frames before it.
	callForm struct {
		Function string   `json:"function,omitempty"`
		File     pathText `json:"file,omitempty"`
		Line     int      `json:"line,omitempty"`
		Column   int      `json:"column,omitempty"`
		Inlined  bool     `json:"inlined,omitempty"`
		TailCall bool     `json:"tailCall,omitempty"`
	}
)

// WriteJSON writes the document as one line of JSON. A document without a word
// size, of which nothing could be read, has no JSON form: nothing is written.
func (d *Document) WriteJSON(w io.Writer) error {
	if d.WordSize == 0 {
		return nil
	}
	first, err := stackjson.Marshal(head{d.Architecture, d.WordSize})
	if err != nil {
		return err
	}
	last, err := stackjson.Marshal(d.tail())
	if err != nil {
		return err
	}
	// A bufio.Writer keeps the first error for Flush.
	b := bufio.NewWriterSize(w, 1<<16)
	b.Write(first[:len(first)-1])
	b.WriteString(`,"frames":[`)
	for i := range d.Frames {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := d.writeFrame(b, i); err != nil {
			return err
		}
	}
	b.WriteString(`],`)
	b.Write(last[1:])
	b.WriteByte('\n')
	return b.Flush()
}

// writeFrame writes the frame with an index, behind those of the functions inlined there.
func (d *Document) writeFrame(b *bufio.Writer, index int) error {
	f, calls := d.Frames[index], d.calls(index)
	if len(calls) == 0 {
		b.Write(appendFrame(b.AvailableBuffer(), f))
		return nil
	}
	for i, c := range calls {
		if i > 0 {
			b.WriteByte(',')
		}
		words, err := stackjson.Marshal(callForm{d.shown(c.Function), pathText(d.shown(c.File)), c.Line, c.Column, i+1 < len(calls), c.TailCall})
		if err != nil {
			return err
		}
		frame := appendFrame(b.AvailableBuffer(), f)
		if len(words) > len("{}") {
			frame = append(append(frame[:len(frame)-1], ','), words[1:]...)
		}
		b.Write(frame)
	}
	return nil
}

func appendFrame(dst []byte, f cbf.Frame) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, f.Kind.String()...)
	dst = append(dst, '"')
	switch {
	case f.Kind.HasAddress():
		dst = append(dst, `,"address":"0x`...)
		dst = strconv.AppendUint(dst, f.Address, 16)
		dst = append(dst, '"')
	case f.Kind == cbf.Omitted:
		dst = append(dst, `,"count":`...)
		dst = strconv.AppendUint(dst, f.Count, 10)
	}
	return append(dst, '}')
}

func (d *Document) tail() tail {
	t := tail{Complete: d.Complete}
	if d.Err != nil {
		t.Error = &problem{d.Err.Offset, d.Err.Message()}
	}
	if d.Images != nil {
		t.Platform = d.Images.Platform()
		t.Images = make([]imageForm, 0, d.Images.Len())
		for _, img := range d.Images.All() {
			img.Path, img.Name = d.shown(img.Path), d.shown(img.Name)
			t.Images = append(t.Images, formOf(img))
		}
	}
	return t
}

func formOf(img imagemap.Image) imageForm {
	base, end := stackjson.Address(img.Base), stackjson.Address(img.EndOfText)
	return imageForm{
		Base: &base, EndOfText: &end, BuildID: hex.EncodeToString(img.BuildID),
		Name: pathText(img.Name), Path: pathText(img.Path),
	}
}

// image reads the form. The name follows from the path.
func (f *imageForm) image() (imagemap.Image, error) {
	switch {
	case f.Base == nil:
		return imagemap.Image{}, missing("base")
	case f.EndOfText == nil:
		return imagemap.Image{}, missing("endOfText")
	}
	id, err := hex.DecodeString(f.BuildID)
	if err != nil {
		return imagemap.Image{}, &fieldError{"buildID", err}
	}
	return imagemap.Image{Base: uint64(*f.Base), EndOfText: uint64(*f.EndOfText), BuildID: id, Path: string(f.Path)}, nil
}
