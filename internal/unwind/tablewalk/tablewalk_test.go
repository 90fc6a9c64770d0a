package tablewalk_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

const (
	stack = 0x7ffd_0000_0000
	code  = 0x40_0000 // functions of 0x100 bytes each
)

// made are tables in which each function of 0x100 bytes has one rule.
type made struct {
	rules   map[uint64]*tablewalk.Rule // by the function's start
	errs    map[uint64]error
	signals []uint64
	asked   *[]uint64
	code    unwind.Range
}

func (m *made) Coverage() unwind.RangeSet { return unwind.NewRangeSet(m.code) }

func (m *made) Signal(addr uint64) bool { return slices.Contains(m.signals, addr) }

func (m *made) Rule(addr uint64, _ unwind.PCKind) (*tablewalk.Rule, error) {
	*m.asked = append(*m.asked, addr)
	start := addr &^ 0xff
	return m.rules[start], m.errs[start]
}

// sized is the rule of a function with a frame of so many bytes.
func sized(bytes int64) *tablewalk.Rule {
	return &tablewalk.Rule{Rule: rule.Rule{Arch: unwind.AMD64, Kept: true, CFA: rule.In(unwind.AMD64RSP, bytes), RA: rule.AtCFA(-8), FP: rule.Value{From: rule.Same}}}
}

func newMade() *made {
	return &made{rules: map[uint64]*tablewalk.Rule{}, errs: map[uint64]error{}, asked: new([]uint64), code: unwind.Range{Start: code, End: code + 0x1000}}
}

// strategy opens the tables that belong to an image's ID.
func strategy(byID map[unwind.ImageID]*made, problems tablewalk.Problems) *tablewalk.Unwinder {
	return tablewalk.New(tablewalk.Strategy{
		Description: unwind.Description{Name: "made", Version: "1", Arches: []unwind.Arch{unwind.AMD64}, Trust: unwind.TrustCFI},
		Rules:       "made rules",
		Open: func(_ unwind.Arch, in *unwind.Image) (tablewalk.Tables, tablewalk.Problems) {
			if m := byID[in.ID]; m != nil {
				return m, problems
			}
			return nil, problems
		},
	})
}

func with(t *testing.T, m *made) *tablewalk.Unwinder {
	u := strategy(map[unwind.ImageID]*made{1: m}, nil)
	walktest.With(t, u, unwind.AMD64, 0, unwind.Image{ID: 1})
	return u
}

// request starts in a function of 16 bytes that returns behind functions 1 and 2.
func request(t *testing.T) unwind.WalkRequest {
	s := stackasm.New(unwind.AMD64, stack).Mark("sp").Word(0xf0, code+0x110).Word(0xf1, code+0x210).Word(0xf2, 0)
	return walktest.Request(t, unwind.AMD64, unwind.KindInstruction, s, stackasm.Values{"rip": stackasm.Num(code + 0x10), "rsp": stackasm.At("sp"), "rbx": stackasm.Num(7)})
}

// three has a rule for each of the three functions.
func three() *made {
	m := newMade()
	for i := range uint64(3) {
		m.rules[code+i*0x100] = sized(16)
	}
	return m
}

// TestWalk: frames up to a return address of 0, each looked up in its call (R9),
// with what the rule proves.
func TestWalk(t *testing.T) {
	m := three()
	r := walktest.Wants(t, with(t, m), request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopEnd, "below 4096 (R8)")
	if want := []uint64{code + 0x10, code + 0x10f, code + 0x20f}; !slices.Equal(*m.asked, want) {
		t.Errorf("looked up %#x, want %#x", *m.asked, want)
	}
	step := r.Steps[0]
	rbx, _ := step.Caller.Get(unwind.AMD64RBX)
	if step.CFA != stack+16 || step.Rule != "cfa=rsp+16; ra=[cfa-8]; fp=unchanged" || step.Trust != unwind.TrustCFI || step.Note != "" || rbx != 7 {
		t.Errorf("%+v", step)
	}
}

// TestFewRegisters: only PC, SP and FP are told of steps but the last, unless all
// are asked for.
func TestFewRegisters(t *testing.T) {
	q := request(t)
	q.AllRegisters = false
	r := walktest.Wants(t, with(t, three()), q, []uint64{code + 0x110, code + 0x210}, unwind.StopEnd, "")
	_, first := r.Steps[0].Caller.Get(unwind.AMD64RBX)
	if _, last := r.Steps[1].Caller.Get(unwind.AMD64RBX); first || !last {
		t.Errorf("rbx: %v, %v", first, last)
	}
}

// TestCache: a rule is looked up once; a failure every time; an Update forgets.
func TestCache(t *testing.T) {
	m := three()
	delete(m.rules, code+0x200)
	m.errs[code+0x200] = errors.New("damaged")
	u := with(t, m)
	for range 3 {
		walktest.Wants(t, u, request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopNoRule, "damaged")
	}
	if len(*m.asked) != 2+3 {
		t.Errorf("asked for %#x", *m.asked)
	}
	walktest.With(t, u, unwind.AMD64, 0)
	walktest.Wants(t, u, request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopNoRule, "damaged")
	if len(*m.asked) != 2+3+3 {
		t.Errorf("asked for %#x", *m.asked)
	}
}

// TestStops: each way in which a walk ends before its end.
func TestStops(t *testing.T) {
	one := []uint64{code + 0x110}
	for name, tt := range map[string]struct {
		change func(m *made, q *unwind.WalkRequest)
		want   []uint64
		stop   unwind.WalkStop
		reason string
	}{
		"no rule":         {func(m *made, _ *unwind.WalkRequest) { delete(m.rules, code+0x100) }, one, unwind.StopNoRule, "no made rules for code at 0x400110"},
		"limit":           {func(_ *made, q *unwind.WalkRequest) { q.MaxFrames = 1 }, one, unwind.StopLimit, ""},
		"none wanted":     {func(_ *made, q *unwind.WalkRequest) { q.MaxFrames = 0 }, nil, unwind.StopLimit, ""},
		"memory":          {func(_ *made, q *unwind.WalkRequest) { q.Stack[0].Data = q.Stack[0].Data[:24] }, one, unwind.StopMemory, ""},
		"outermost":       {func(m *made, _ *unwind.WalkRequest) { m.rules[code+0x100].RA = rule.Value{From: rule.Undefined} }, one, unwind.StopEnd, "return address undefined"},
		"register":        {func(m *made, _ *unwind.WalkRequest) { m.rules[code+0x100].CFA.Register = 12 }, one, unwind.StopNoRule, "the CFA needs r12"},
		"progress":        {func(m *made, _ *unwind.WalkRequest) { m.rules[code+0x100].CFA.Offset = 0 }, one, unwind.StopBroken, "is not above"},
		"segment":         {func(m *made, q *unwind.WalkRequest) { q.Segment.High = stack + 24 }, one, unwind.StopBroken, "outside the stack segment"},
		"architecture":    {func(_ *made, q *unwind.WalkRequest) { q.Arch = unwind.ARM64 }, nil, unwind.StopNoRule, "no made rules for arm64"},
		"no PC":           {func(_ *made, q *unwind.WalkRequest) { q.Registers.Forget(unwind.AMD64RIP) }, nil, unwind.StopNoRule, "the program counter is not known"},
		"at the end":      {func(_ *made, q *unwind.WalkRequest) { q.Kind = unwind.KindReturn; q.Registers.Set(unwind.AMD64RIP, 7) }, nil, unwind.StopEnd, "below 4096 (R8)"},
		"another's image": {func(m *made, q *unwind.WalkRequest) { q.Registers.Set(unwind.AMD64RIP, code+0x1000) }, nil, unwind.StopNoRule, "no made rules"},
	} {
		t.Run(name, func(t *testing.T) {
			m, q := three(), request(t)
			tt.change(m, &q)
			r := walktest.Wants(t, with(t, m), q, tt.want, tt.stop, tt.reason)
			if name == "memory" && r.Need != (unwind.Range{Start: stack + 24, End: stack + 32}) {
				t.Errorf("needs %#x", r.Need)
			}
		})
	}
}

// TestYield: the walk ends before code that another strategy has taken over.
func TestYield(t *testing.T) {
	u := with(t, three())
	if err := u.Yield(context.Background(), unwind.RangeSet{{Start: code + 0x100, End: code + 0x200}}); err != nil {
		t.Fatal(err)
	}
	walktest.Wants(t, u, request(t), []uint64{code + 0x110}, unwind.StopYield, "")
}

// TestDoubt: a doubt makes a step a scanned one, unless the code settles it, which
// is asked for the innermost frame only.
func TestDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		settled *tablewalk.Rule
		trust   unwind.Trust
		note    string
	}{
		"not settled": {nil, unwind.TrustScan, "doubtful"},
		"settled":     {&tablewalk.Rule{Rule: sized(16).Rule, Trust: unwind.TrustFramePointer, Note: "by code"}, unwind.TrustFramePointer, "by code"},
	} {
		t.Run(name, func(t *testing.T) {
			m, q := three(), request(t)
			asked := 0
			for start := range m.rules {
				m.rules[start].Doubt = "doubtful"
				m.rules[start].Settle = func(*unwind.FunctionCode, *unwind.Registers) *tablewalk.Rule {
					asked++
					return tt.settled
				}
			}
			q.Function = &unwind.FunctionCode{Start: code}
			r := walktest.Wants(t, with(t, m), q, []uint64{code + 0x110, code + 0x210}, unwind.StopEnd, "")
			if s := r.Steps[0]; s.Trust != tt.trust || s.Note != tt.note || s.Rule == "" || asked != 1 {
				t.Errorf("%+v, asked %d times", s, asked)
			}
			if s := r.Steps[1]; s.Trust != unwind.TrustScan || s.Note != "doubtful" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestSignal: a trampoline is looked up by its own address, and its caller was
// interrupted, where it may; on another stack the walk ends.
func TestSignal(t *testing.T) {
	m := three()
	m.rules[code+0x100].Signal = true
	m.signals = []uint64{code + 0x110}
	r := walktest.Wants(t, with(t, m), request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopEnd, "")
	if (*m.asked)[1] != code+0x110 || r.Steps[1].CallerKind != unwind.KindInstruction || (*m.asked)[2] != code+0x210 {
		t.Errorf("asked for %#x, %v", *m.asked, r.Steps[1].CallerKind)
	}
	m = three()
	m.rules[code+0x100].Signal = true
	m.rules[code+0x100].Saved = []rule.Saved{{Register: unwind.AMD64RSP, Value: rule.Value{From: rule.CFA, Offset: -32}}}
	walktest.Wants(t, with(t, m), request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopNoRule, "a signal interrupted code on another stack")
}

// TestImages: of images that seem to overlap the one that starts last counts; one
// that goes is forgotten; what is wrong is told.
func TestImages(t *testing.T) {
	wide, narrow := three(), newMade()
	wide.code = unwind.Range{Start: code - 0x1000, End: code + 0x2000}
	narrow.rules[code] = sized(32)
	u := strategy(map[unwind.ImageID]*made{1: wide, 2: narrow}, tablewalk.Problems{"one", "two"})
	delta := unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 1}, {ID: 2}, {ID: 3}}}
	reports, err := u.Update(context.Background(), delta)
	if err != nil || len(reports) != 3 || reports[0].Problem != "one; two" || len(reports[0].Coverage) != 1 || len(reports[2].Coverage) != 0 {
		t.Fatalf("%+v, %v", reports, err)
	}
	walktest.Wants(t, u, request(t), []uint64{code + 0x210}, unwind.StopEnd, "")
	if _, err := u.Update(context.Background(), unwind.ImageDelta{Arch: unwind.AMD64, Removed: []unwind.ImageID{2}}); err != nil {
		t.Fatal(err)
	}
	walktest.Wants(t, u, request(t), []uint64{code + 0x110, code + 0x210}, unwind.StopEnd, "")
	if reports, err := u.Update(context.Background(), unwind.ImageDelta{Arch: unwind.ARM64, Added: []unwind.Image{{ID: 1}}}); err != nil || len(reports[0].Coverage) != 0 {
		t.Errorf("%+v, %v", reports, err)
	}
}

// TestCanceled: a context that is done ends walks and updates with its error.
func TestCanceled(t *testing.T) {
	u := with(t, three())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := u.Walk(ctx, []unwind.WalkRequest{request(t)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := u.Update(ctx, unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 1}}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAdd: the first problems of a section, and how many more there are.
func TestAdd(t *testing.T) {
	var p tablewalk.Problems
	tablewalk.Add(&p, ".x", []error{errors.New("a"), errors.New("b")}, 5)
	tablewalk.Add(&p, ".y", []error{errors.New("c")}, 1)
	if !slices.Equal(p, tablewalk.Problems{"a", "b", "3 more in .x", "c"}) {
		t.Error(p)
	}
}
