package dap

import (
	"context"
	"encoding/hex"
	"maps"
	"math"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// imagesBody is the answer to clew/images.
type imagesBody struct {
	Images []imageBody `json:"images"`
}

// imageBody is an image of the program's: [Base, End) is what it covers.
type imageBody struct {
	Path            string            `json:"path"`
	BuildID         string            `json:"buildID,omitempty"`
	Base            stackjson.Address `json:"base"`
	End             stackjson.Address `json:"end"`
	ExecutableBytes uint64            `json:"executableBytes"`
	Unwind          []coveredBody     `json:"unwind"` // best ranked first
	Notes           []string          `json:"notes,omitempty"`
}

// coveredBody is what one strategy makes of an image.
type coveredBody struct {
	Strategy     string   `json:"strategy"`
	Sections     []string `json:"sections,omitempty"`
	Anywhere     bool     `json:"anywhere,omitempty"` // covers nothing, but may know any code
	CoveredBytes uint64   `json:"coveredBytes"`
	Share        float64  `json:"share"` // of the executable bytes, 0 to 1, to four places
	// Frames of the image whose caller the strategy has found, in the stacks that
	// were assembled at this stop.
	Frames  int    `json:"frames"`
	Problem string `json:"problem,omitempty"`
}

// imageLister lists the program's images.
type imageLister struct {
	wire    *wire.Bridge
	program *debuggee.Program
}

// onImages answers clew/images: what the program has loaded, and which
// strategies have what to unwind it by.
func (l *imageLister) onImages(ctx context.Context, m *dapwire.Message) error {
	list, err := l.images(ctx, m)
	if err == nil {
		l.wire.Client.Respond(m, imagesBody{Images: list})
	}
	return err
}

// images lists the images at the present stop.
func (l *imageLister) images(ctx context.Context, m *dapwire.Message) ([]imageBody, error) {
	if err := l.wire.Settle(ctx, m); err != nil {
		return nil, err
	}
	list := []imageBody{}
	err := l.program.AtStop(ctx, m.Seq, func(ctx context.Context, v *debuggee.View) error {
		if err := l.program.Prepare(ctx, v); err != nil {
			return err
		}
		served := served(v)
		about := v.EngineInput().ImageNotes()
		for i, img := range v.Images().All() {
			out := imageBody{
				Path: img.Path, BuildID: hex.EncodeToString(img.BuildID), Base: stackjson.Address(img.Base), End: stackjson.Address(img.EndOfText),
				ExecutableBytes: v.Prepared.ExecutableBytes(i), Unwind: []coveredBody{},
			}
			if i < len(about) {
				out.Notes = about[i]
			}
			for _, c := range v.Prepared.Covered(i) {
				out.add(&c, served[i][c.Strategy])
				delete(served[i], c.Strategy)
			}
			for _, strategy := range slices.Sorted(maps.Keys(served[i])) { // Delve
				out.add(&engine.Covered{Strategy: strategy}, served[i][strategy])
			}
			list = append(list, out)
		}
		return nil
	})
	return list, err
}

// add adds a strategy that has something to do with the image.
func (b *imageBody) add(c *engine.Covered, frames int) {
	covered := c.Code.Size()
	if covered == 0 && frames == 0 && c.Problem == "" && !c.Anywhere {
		return
	}
	const places = 10_000
	share := float64(covered) / float64(max(b.ExecutableBytes, 1))
	b.Unwind = append(b.Unwind, coveredBody{
		Strategy: c.Strategy, Sections: c.Sections, Anywhere: c.Anywhere, CoveredBytes: covered, Share: math.Round(share*places) / places,
		Frames: frames, Problem: c.Problem,
	})
}

// served counts, for each image by its index, the frames whose caller was found,
// by the strategy that has found it, in the stacks of this view.
func served(v *debuggee.View) map[int]map[string]int {
	images := v.EngineInput().Images
	code := make([]unwind.RangeSet, len(images))
	for i := range images {
		code[i] = unwind.NewRangeSet(images[i].Executable...)
	}
	out := make(map[int]map[string]int)
	count := func(s *unwind.Stack) {
		var callee *unwind.Frame
		for i := range s.Frames {
			f := &s.Frames[i]
			if f.Inlined {
				continue
			}
			if callee != nil {
				at := uint64(callee.PC.Lookup(v.Arch()))
				if n := slices.IndexFunc(code, func(r unwind.RangeSet) bool { return r.Contains(at) }); n >= 0 {
					if out[n] == nil {
						out[n] = make(map[string]int)
					}
					out[n][f.Strategy]++
				}
			}
			callee = f
		}
	}
	for _, st := range v.Stacks(v.Prepared) {
		count(&st.Stack)
	}
	return out
}
