package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// recorded is a strategy that remembers what it was told.
type recorded struct {
	description unwind.Description
	coverage    unwind.RangeSet
	deltas      []unwind.ImageDelta
	yields      unwind.RangeSet
	problem     string
	told        int // how often Yield was called
	walks       []unwind.WalkRequest
	err         error
	asked       int // how often Describe was called
}

func (r *recorded) Describe(context.Context) (unwind.Description, error) {
	r.asked++
	return r.description, nil
}
func (r *recorded) Update(_ context.Context, d unwind.ImageDelta) ([]unwind.ImageReport, error) {
	r.deltas = append(r.deltas, d)
	if r.err != nil {
		return nil, r.err
	}
	var reports []unwind.ImageReport
	for _, img := range d.Added {
		reports = append(reports, unwind.ImageReport{ID: img.ID, Coverage: r.coverage, Problem: r.problem})
	}
	return reports, nil
}
func (r *recorded) Yield(_ context.Context, ranges unwind.RangeSet) error {
	r.told++
	r.yields = ranges
	return nil
}
func (r *recorded) Walk(_ context.Context, reqs []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	r.walks = append(r.walks, reqs...)
	return make([]unwind.WalkResult, len(reqs)), nil
}

// noCode knows nothing.
type noCode struct{}

func (noCode) Function(unwind.LookupAddr) (assembler.Function, bool) {
	return assembler.Function{}, false
}
func (noCode) Bytes(uint64, int) []byte                           { return nil }
func (noCode) Complete(unwind.LookupAddr) bool                    { return false }
func (noCode) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

func input() *Input {
	return &Input{
		Target: assembler.Target{Arch: unwind.AMD64, Memory: unwind.Windows{}, Code: noCode{},
			Executable: unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x3000})},
		Images: []unwind.Image{{Base: 0x1000}},
		Hosted: unwind.NewRangeSet(unwind.Range{Start: 0x2800, End: 0x2900}),
		Section: func(i int, name string) (unwind.Section, bool) {
			return unwind.Section{Name: name, Data: []byte{1}}, name == ".eh_frame"
		},
	}
}

func TestPrepareTellsStrategiesWhatTheyNeed(t *testing.T) {
	first := &recorded{
		description: unwind.Description{Name: "first", Arches: []unwind.Arch{unwind.AMD64}, Sections: []string{".eh_frame", ".missing"}},
		coverage:    unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x1800}, unwind.Range{Start: 0x2f00, End: 0x9000}),
	}
	second := &recorded{description: unwind.Description{Name: "second", Arches: []unwind.Arch{unwind.AMD64}, Anywhere: true}}
	foreign := &recorded{description: unwind.Description{Name: "foreign", Arches: []unwind.Arch{unwind.ARM64}}}
	e := New([]Named{{Name: "first", Unwinder: first}, {Name: "second", Unwinder: second}, {Name: "foreign", Unwinder: foreign}})
	p := e.Prepare(context.Background(), input())
	if len(p.asm.Strategies) != 2 || len(foreign.deltas) != 0 {
		t.Fatalf("%d strategies, the foreign one was told %d times", len(p.asm.Strategies), len(foreign.deltas))
	}
	if s := first.deltas[0].Added[0].Sections; len(s) != 1 || s[0].Name != ".eh_frame" {
		t.Errorf("sections %v", s)
	}
	if s := second.deltas[0].Added[0].Sections; len(s) != 0 {
		t.Errorf("sections that were not asked for: %v", s)
	}
	// Only code is ranked, and a lower rank yields to what the host and the
	// higher ones serve.
	if p.asm.Strategies[0].Coverage.Contains(0x4000) || !p.asm.Strategies[0].Coverage.Contains(0x2f80) {
		t.Errorf("coverage %v", p.asm.Strategies[0].Coverage)
	}
	if !first.yields.Contains(0x2800) || first.yields.Contains(0x1000) || !second.yields.Contains(0x1000) {
		t.Errorf("yields %v, %v", first.yields, second.yields)
	}
	// At the next stop the images of this one go.
	e.Prepare(context.Background(), input())
	if d := first.deltas[1]; len(d.Removed) != 1 || d.Removed[0] != first.deltas[0].Added[0].ID || d.Added[0].ID == d.Removed[0] {
		t.Errorf("second delta: %+v", d)
	}
}

// A later stop tells strategies what has changed, and nothing where nothing has.
func TestLaterStopsSendDeltas(t *testing.T) {
	s := &recorded{
		description: unwind.Description{Name: "s", Arches: []unwind.Arch{unwind.AMD64}},
		coverage:    unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x1800}),
	}
	lower := &recorded{description: unwind.Description{Name: "lower", Arches: []unwind.Arch{unwind.AMD64}}}
	e := New([]Named{{Name: "s", Unwinder: s}, {Name: "lower", Unwinder: lower}})
	at := func(keys ...any) *Input {
		in := input()
		in.Keys, in.Images = keys, nil
		for range keys {
			in.Images = append(in.Images, unwind.Image{Base: 0x1000})
		}
		return in
	}
	expect := func(p *Prepared, updates, yields int, covers bool) {
		t.Helper()
		if len(s.deltas) != updates || lower.told != yields || len(p.asm.Strategies) != 2 {
			t.Fatalf("%d updates, %d yields, %d strategies; want %d, %d, 2", len(s.deltas), lower.told, len(p.asm.Strategies), updates, yields)
		}
		if p.asm.Strategies[0].Coverage.Contains(0x1000) != covers || lower.yields.Contains(0x1000) != covers {
			t.Errorf("coverage %v, the lower one yields %v", p.asm.Strategies[0].Coverage, lower.yields)
		}
	}
	ctx := context.Background()
	expect(e.Prepare(ctx, at("a", "b")), 1, 1, true)
	expect(e.Prepare(ctx, at("b", "a")), 1, 1, true)
	expect(e.Prepare(ctx, at("b", "c")), 2, 1, true)
	ids := map[string]unwind.ImageID{"a": s.deltas[0].Added[0].ID, "b": s.deltas[0].Added[1].ID, "c": s.deltas[1].Added[0].ID}
	if d := s.deltas[1]; len(d.Added) != 1 || !slices.Equal(d.Removed, []unwind.ImageID{ids["a"]}) || ids["c"] == ids["a"] || ids["c"] == ids["b"] {
		t.Errorf("delta %+v after IDs %v", d, ids)
	}
	// A strategy that could not be told knows what it knew, and is told again.
	s.err = errors.New("busy")
	if p := e.Prepare(ctx, at("d")); len(p.asm.Strategies) != 1 || lower.yields.Contains(0x1000) {
		t.Errorf("%d strategies; the lower one yields %v to one that is left out", len(p.asm.Strategies), lower.yields)
	}
	s.err = nil
	expect(e.Prepare(ctx, at("d")), 4, 3, true)
	if d := s.deltas[3]; len(d.Added) != 1 || !slices.Equal(d.Removed, []unwind.ImageID{ids["b"], ids["c"]}) {
		t.Errorf("delta %+v, want one added and %v, %v removed", d, ids["b"], ids["c"])
	}
	// Nothing is left: the coverage goes with the images.
	expect(e.Prepare(ctx, at()), 5, 4, false)
	// Mappings alone have changed: strategies need not know, the ranking must.
	in := at("e")
	expect(e.Prepare(ctx, in), 6, 5, true)
	in = at("e")
	in.Target.Executable = unwind.NewRangeSet(unwind.Range{Start: 0x2000, End: 0x3000})
	expect(e.Prepare(ctx, in), 6, 6, false)
}

func TestStrategyThatFailsIsLeftOutAndNamed(t *testing.T) {
	broken := &recorded{description: unwind.Description{Name: "broken", Arches: []unwind.Arch{unwind.AMD64}}, err: errors.New("no tables")}
	in := input()
	in.Notes = []string{"an image was replaced"}
	p := New([]Named{{Name: "broken", Unwinder: broken}}).Prepare(context.Background(), in)
	var th unwind.Thread
	th.Registers.Set(unwind.AMD64RIP, 0x1000)
	th.Registers.Set(unwind.AMD64RSP, 0x7000)
	s := p.Stack(context.Background(), &th, assembler.Options{})
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[1], "no tables") || s.Stop != unwind.Truncated {
		t.Errorf("%v, notes %q", s.Stop, s.Notes)
	}
}

// What is wrong with an image is said on the stacks that go through it.
func TestNotesAboutImages(t *testing.T) {
	lame := &recorded{description: unwind.Description{Name: "lame", Arches: []unwind.Arch{unwind.AMD64}}, problem: "an FDE lies"}
	in := input()
	in.Images = []unwind.Image{
		{Base: 0x1000, Path: "here", Executable: []unwind.Range{{Start: 0x1000, End: 0x1800}}},
		{Base: 0x2000, Path: "elsewhere", Executable: []unwind.Range{{Start: 0x2000, End: 0x2800}}},
	}
	in.About = func() [][]string { return [][]string{{"its debug file is another's"}, {"never mind"}} }
	p := New([]Named{{Name: "lame", Unwinder: lame}}).Prepare(context.Background(), in)
	var th unwind.Thread
	th.Registers.Set(unwind.AMD64RIP, 0x1000)
	th.Registers.Set(unwind.AMD64RSP, 0x7000)
	s := p.Stack(context.Background(), &th, assembler.Options{})
	if want := []string{"its debug file is another's", "lame cannot use all of here: an FDE lies"}; !slices.Equal(s.Notes, want) {
		t.Errorf("notes %q, want %q", s.Notes, want)
	}
}

// What was read comes back once, sorted and joined.
func TestRecorder(t *testing.T) {
	r := NewRecorder(unwind.Windows{{Addr: 100, Data: []byte("0123456789")}})
	for _, at := range []struct{ addr, n uint64 }{{104, 4}, {100, 2}, {106, 4}, {101, 1}} {
		if err := r.ReadMemory(at.addr, make([]byte, at.n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.ReadMemory(50, make([]byte, 1)); err == nil {
		t.Error("unreadable memory was read")
	}
	got := r.Windows()
	if len(got) != 2 || got[0].Addr != 100 || string(got[0].Data) != "01" || got[1].Addr != 104 || string(got[1].Data) != "456789" {
		t.Errorf("%v", got)
	}
}

// TestRehearse: only the strategy that would be asked first is, and the program's memory is not read.
func TestRehearse(t *testing.T) {
	covers := unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x1800})
	of := func(name string, covers unwind.RangeSet) *recorded {
		return &recorded{description: unwind.Description{Name: name, Arches: []unwind.Arch{unwind.AMD64}}, coverage: covers}
	}
	other, first, second := of("other", unwind.NewRangeSet(unwind.Range{Start: 0x2000, End: 0x2100})), of("first", covers), of("second", covers)
	in := input()
	in.Target.Memory = nil
	p := New([]Named{{Name: "other", Unwinder: other}, {Name: "first", Unwinder: first}, {Name: "second", Unwinder: second}}).Prepare(context.Background(), in)
	p.Rehearse(context.Background(), 0x1234)
	if len(other.walks) != 0 || len(first.walks) != 1 || len(second.walks) != 0 {
		t.Fatalf("asked: %d, %d, %d", len(other.walks), len(first.walks), len(second.walks))
	}
	if pc, _ := first.walks[0].Registers.PC(unwind.AMD64); pc != 0x1234 || first.walks[0].MaxFrames != 1 {
		t.Errorf("%+v", first.walks[0])
	}
	p.Rehearse(context.Background(), 0x2900)
	if len(first.walks) != 1 {
		t.Error("asked about code that it does not cover")
	}
}

// TestStart: the best-ranked strategy is asked, which starts its process, though what it is was known; no other one is.
func TestStart(t *testing.T) {
	first, second := &recorded{}, &recorded{}
	known := &unwind.Description{}
	e := New([]Named{{Name: "first", Unwinder: first, Description: known}, {Name: "second", Unwinder: second, Description: known}})
	if err := e.Start(context.Background()); err != nil || first.asked != 1 || second.asked != 0 {
		t.Errorf("asked %d and %d times: %v", first.asked, second.asked, err)
	}
	if err := New(nil).Start(context.Background()); err != nil {
		t.Error(err)
	}
}
