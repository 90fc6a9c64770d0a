package document

import (
	"encoding/json"
	"errors"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export"
)

// Why there is no document in a file.
var (
	errNoStack   = errors.New("there is no stack in it")
	errNotExpect = errors.New("the snapshot lacks the stacks that were seen when it was made; clew unwind finds them")
)

// readAnswer returns a document for each stack that clew stack and clew unwind write
// as JSON.
func (f *form) readAnswer(text []byte) ([]*Document, error) {
	answer, err := stackjson.ParseAnswer(text)
	if err != nil {
		return nil, err
	}
	of := &Document{WordSize: cbf.Word64}
	if err := f.readImages(of); err != nil {
		return nil, err
	}
	return of.stacks(answer.Stacks)
}

// readSnapshot returns a document for each stack that a snapshot's maker has seen.
func readSnapshot(text []byte) ([]*Document, error) {
	s, err := snapshot.Parse(text)
	if err != nil {
		return nil, err
	}
	if s.Expect == nil {
		return nil, errNotExpect
	}
	expect, err := json.Marshal(s.Expect)
	if err != nil {
		return nil, err
	}
	answer, err := stackjson.ParseAnswer(expect)
	if err != nil {
		return nil, &fieldError{"expect", err}
	}
	images, err := s.ImageMap()
	if err != nil {
		return nil, err
	}
	of := &Document{Architecture: export.SwiftName(s.Arch), WordSize: cbf.WordSize(images.WordSize()), Images: images}
	return of.stacks(answer.Stacks)
}

// stacks returns a document for each stack, in all else equal to d.
func (d *Document) stacks(all []stackjson.Stack) (out []*Document, err error) {
	if len(all) == 0 {
		return nil, errNoStack
	}
	for i := range all {
		one := *d
		one.addStack(&all[i])
		out = append(out, &one)
	}
	return out, nil
}

var frameKinds = map[stackjson.Kind]cbf.Kind{stackjson.KindPC: cbf.PC, stackjson.KindRA: cbf.RA, stackjson.KindAsync: cbf.Async}

// addStack sets the frames. Functions that are inlined in a frame come before it.
func (d *Document) addStack(s *stackjson.Stack) {
	var calls []Call
	for _, f := range s.Frames {
		if f.Function != "" || len(calls) > 0 {
			calls = append(calls, Call{f.Function, f.File, f.Line, f.Column, f.TailCall})
		}
		if f.Inlined {
			continue
		}
		d.Frames = append(d.Frames, cbf.Frame{Kind: frameKinds[f.Kind], Address: uint64(f.PC)})
		d.Calls = append(d.Calls, calls)
		calls = nil
	}
	if d.Complete = s.Stop == stackjson.StopEnd; !d.Complete {
		d.Frames = append(d.Frames, cbf.Frame{Kind: cbf.Truncated})
	}
}
