package snapshot

import (
	"encoding/hex"
	"io"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// The JSON form, in the order in which it is written. Memory comes late, so
// that the beginning of a line shows its kind.
type (
	snapshotForm struct {
		Version   int                    `json:"version"`
		Producer  string                 `json:"producer,omitempty"`
		Arch      string                 `json:"arch"`
		ByteOrder string                 `json:"byteOrder,omitempty"`
		OS        string                 `json:"os"`
		Images    []imageForm            `json:"images"`
		Maps      []mapForm              `json:"maps,omitzero"`
		PACMask   stackjson.Address      `json:"pacMask,omitzero"`
		Threads   []threadForm           `json:"threads"`
		Memory    []windowForm           `json:"memory"`
		Expect    *stackjson.Expectation `json:"expect,omitempty"`
	}
	imageForm struct {
		Path    string            `json:"path"`
		Base    stackjson.Address `json:"base"`
		End     stackjson.Address `json:"end,omitzero"`
		BuildID string            `json:"buildID,omitempty"`
	}
	mapForm struct {
		Start stackjson.Address `json:"start"`
		End   stackjson.Address `json:"end"`
		Perm  string            `json:"perm"`
		Path  string            `json:"path,omitempty"`
	}
	threadForm struct {
		ID        uint64                       `json:"id,omitzero"`
		Goroutine uint64                       `json:"goroutine,omitzero"`
		Registers map[string]stackjson.Address `json:"registers"`
		FirstPC   string                       `json:"firstPC,omitempty"`
		Segments  []segmentForm                `json:"segments,omitzero"`
		Saved     *savedForm                   `json:"saved,omitempty"`
		Claims    []stackjson.Frame            `json:"claims,omitzero"`
	}
	savedForm struct {
		G         stackjson.Address            `json:"g"`
		Registers map[string]stackjson.Address `json:"registers,omitempty"`
	}
	segmentForm struct {
		Low  stackjson.Address `json:"low"`
		High stackjson.Address `json:"high"`
		Kind string            `json:"kind"`
	}
	windowForm struct {
		Address stackjson.Address `json:"address"`
		Data    []byte            `json:"data"`
	}
)

// Marshal returns the snapshot as one line, without a line end. The same snapshot
// always has the same bytes, and [Parse] reads them; bytes of names that are not
// UTF-8 become U+FFFD, since JSON cannot represent them. The error is that of
// [Snapshot.Validate].
func (s *Snapshot) Marshal() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	out := snapshotForm{
		Version:  Version,
		Producer: s.Producer,
		Arch:     s.Arch.String(),
		OS:       s.OS,
		Images:   each(s.Images, imageOf),
		PACMask:  stackjson.Address(s.PACMask),
		Threads:  each(s.Threads, func(t unwind.Thread) threadForm { return threadOf(s.Arch, &t) }),
		Memory:   each(s.Memory, windowOf),
		Expect:   s.Expect,
	}
	if s.Order() != s.Arch.ByteOrder() {
		out.ByteOrder = "little"
		if s.Arch.ByteOrder().String() == "LittleEndian" {
			out.ByteOrder = "big"
		}
	}
	if s.Maps != nil {
		out.Maps = each(s.Maps, mapOf)
	}
	return stackjson.Marshal(out)
}

// Write writes the snapshot and a line end.
func Write(w io.Writer, s *Snapshot) error {
	line, err := s.Marshal()
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

func imageOf(i Image) imageForm {
	return imageForm{Path: i.Path, Base: stackjson.Address(i.Base), End: stackjson.Address(i.End), BuildID: hex.EncodeToString(i.BuildID)}
}

func mapOf(m Map) mapForm {
	return mapForm{Start: stackjson.Address(m.Start), End: stackjson.Address(m.End), Perm: m.Perm, Path: m.Path}
}

func windowOf(w unwind.Window) windowForm {
	if w.Data == nil {
		w.Data = []byte{} // encoding/json would write null
	}
	return windowForm{Address: stackjson.Address(w.Addr), Data: w.Data}
}

func segmentOf(g unwind.Segment) segmentForm {
	return segmentForm{Low: stackjson.Address(g.Low), High: stackjson.Address(g.High), Kind: g.Kind.String()}
}

func threadOf(arch unwind.Arch, t *unwind.Thread) threadForm {
	out := threadForm{ID: t.ID, Goroutine: t.Goroutine, Registers: stackjson.RegistersByName(arch, &t.Registers)}
	if t.FirstPC != unwind.KindInstruction {
		out.FirstPC = t.FirstPC.String()
	}
	if t.Segments != nil {
		out.Segments = each(t.Segments, segmentOf)
	}
	if s := t.Saved; s != nil {
		out.Saved = &savedForm{G: stackjson.Address(s.G), Registers: stackjson.RegistersByName(arch, &s.Registers)}
	}
	for i := range t.Claims {
		out.Claims = append(out.Claims, claimOf(arch, i, &t.Claims[i]))
	}
	return out
}

// claimOf returns a claim's form. Its registers are listed where the fields of a
// frame cannot hold them: others than PC, SP and FP, or a PC that differs from
// the frame's (with its authentication code removed, R11).
func claimOf(arch unwind.Arch, i int, f *unwind.Frame) stackjson.Frame {
	list := false
	for reg, v := range f.Registers.All() {
		switch reg {
		case arch.SP(), arch.FP():
		case arch.PC():
			list = list || v != f.PC.Raw()
		default:
			list = true
		}
	}
	return stackjson.FromFrame(arch, i, f, list)
}

// each returns a list's forms, and an empty list, not nil, for none.
func each[T, F any](list []T, form func(T) F) []F {
	out := make([]F, 0, len(list))
	for _, v := range list {
		out = append(out, form(v))
	}
	return out
}
