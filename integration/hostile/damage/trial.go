package damage

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// site is a field of a table that frames of the stack may rest on.
type site struct {
	field
	image   int
	section string
	data    []byte
}

// sections are the kinds of tables, by the names of their sections.
var sections = map[string]func(data []byte, start uint64, places []uint64) []field{
	".eh_frame":     callFrames,
	".sframe":       func(data []byte, _ uint64, _ []uint64) []field { return sframeRows(data) },
	"__unwind_info": func(data []byte, _ uint64, _ []uint64) []field { return encodings(data) },
}

// subject is a program whose tables are damaged.
type subject struct {
	*inprocess.Stopped
	engine *engine.Engine
	truth  []inprocess.Frame
	sites  map[string][]site // by section
	in     engine.Input
	n      int
}

func newSubject(s *inprocess.Stopped) *subject {
	u := &subject{Stopped: s, engine: engine.New(inprocess.Strategies()), truth: s.Truth(), sites: make(map[string][]site), in: *s.Input}
	for i := range s.Input.Images {
		var places []uint64
		code := unwind.NewRangeSet(s.Input.Images[i].Executable...)
		for k := range s.Stack.Frames {
			if at := uint64(s.Stack.Frames[k].PC.Lookup(unwind.AMD64)); code.Contains(at) {
				places = append(places, at)
			}
		}
		if len(places) == 0 {
			continue
		}
		for name, fields := range sections {
			if t, ok := s.Input.Section(i, name); ok {
				for _, f := range fields(t.Data, t.Addr, places) {
					u.sites[name] = append(u.sites[name], site{f, i, name, t.Data})
				}
			}
		}
	}
	return u
}

// damaged is the stack with one field overwritten.
func (u *subject) damaged(at *site, v uint64) unwind.Stack {
	data := slices.Clone(at.data)
	at.Put(data, v)
	u.n++
	u.in.Keys = slices.Clone(u.Input.Keys)
	u.in.Keys[at.image] = u.n
	u.in.Section = func(image int, name string) (unwind.Section, bool) {
		s, ok := u.Input.Section(image, name)
		if image == at.image && name == at.section {
			s.Data = data
		}
		return s, ok
	}
	return u.engine.Prepare(context.Background(), &u.in).Stack(context.Background(), &u.Thread, assembler.Options{})
}

// further are the distances from a frame's caller to frames further out.
func (u *subject) further() (out []uint64) {
	for i, f := range u.truth[1:] {
		for _, other := range u.truth[i+2:] {
			if d := other.SP - f.SP; other.SP > f.SP && d < 1<<14 {
				out = append(out, d)
			}
		}
	}
	return out
}

// kind is what became of a stack.
type kind string

const (
	untouched   kind = "untouched"
	unnoticed   kind = "right, nothing refused"
	byModel     kind = "right, refused by the code"
	byOther     kind = "right, refused otherwise"
	truncated   kind = "truncated"
	wrongScan   kind = "truncated, wrong by scan"
	wrongPrefix kind = "truncated, WRONG"
	wrong       kind = "complete, WRONG"
)

// kinds are those that are counted.
var kinds = []kind{byModel, byOther, unnoticed, truncated, wrongScan, wrongPrefix, wrong}

// judge compares a stack with the true one.
func (u *subject) judge(s *unwind.Stack) kind {
	same := len(s.Frames) == len(u.Stack.Frames) && s.Stop == unwind.End
	refused := unnoticed
	for i := range s.Frames {
		f := &s.Frames[i]
		if i >= len(u.truth) || inprocess.FrameOf(f) != u.truth[i] {
			switch {
			case s.Stop == unwind.End:
				return wrong
			case f.Trust <= unwind.TrustScan:
				return wrongScan
			}
			return wrongPrefix
		}
		was := &u.Stack.Frames[i]
		same = same && f.Rule == was.Rule && f.Strategy == was.Strategy && len(f.Rejected) == len(was.Rejected) && len(f.Notes) == len(was.Notes)
		for _, r := range f.Rejected {
			switch {
			case strings.Contains(r.Reason, "the function's own code"):
				refused = byModel
			case refused == unnoticed:
				refused = byOther
			}
		}
	}
	switch {
	case same:
		return untouched
	case s.Stop == unwind.Truncated:
		return truncated
	case len(s.Frames) < len(u.truth):
		return wrong
	}
	return refused
}

// results counts what became of the trials.
type results map[kind]int

// run makes trials with the tables of one section.
func (u *subject) run(rng *rand.Rand, section string, trials int, show func(string)) (results, error) {
	res, sites, further := make(results), u.sites[section], u.further()
	if len(sites) == 0 {
		return nil, fmt.Errorf("no frame's image has %s", section)
	}
	for tried := 0; res.trials() < trials; tried++ {
		if tried > 40*trials {
			return nil, fmt.Errorf("only %d of %d trials touch the stack", res.trials(), tried)
		}
		at := &sites[rng.IntN(len(sites))]
		was := at.Get(at.data)
		v := at.wrong(rng, was, further)
		stack := u.damaged(at, v)
		k := u.judge(&stack)
		if k == untouched {
			continue
		}
		res[k]++
		if k != byModel && k != byOther {
			show(fmt.Sprintf("%s: image %d %s+%#x %s: %d, was %d: %s", k, at.image, section, at.Off, at.what, v, was, u.difference(&stack)))
		}
	}
	return res, nil
}

func (r results) trials() (n int) {
	for v := range maps.Values(r) {
		n += v
	}
	return n
}

// difference describes the first frame that is not the true one.
func (u *subject) difference(s *unwind.Stack) string {
	for i := range s.Frames {
		if f := &s.Frames[i]; i >= len(u.truth) || inprocess.FrameOf(f) != u.truth[i] {
			callee := &s.Frames[max(0, i-1)]
			return fmt.Sprintf("frame %d by %s, %s, from %#x by %s; %s: %s", i, f.Strategy, f.Trust, callee.PC.Raw(), callee.Rule, s.Stop, s.Reason)
		}
	}
	return fmt.Sprintf("%d of %d frames; %s: %s", len(s.Frames), len(u.truth), s.Stop, s.Reason)
}
