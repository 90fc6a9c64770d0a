package assembler

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// stubWitness is a witness that has its answers.
type stubWitness struct {
	code   expected
	known  bool // that the code has the caller there
	proves bool // it is a model's
	silent bool // there is code, and it shows no rule
	called bool
	own    agreement
	other  bool // fits better
}

func (s stubWitness) expects(least certainty) (expected, bool) {
	return s.code, s.known && (least < isProven || s.proves)
}
func (s stubWitness) unclear() bool     { return s.silent }
func (s stubWitness) led() bool         { return s.called }
func (s stubWitness) agrees() agreement { return s.own }
func (s stubWitness) nearer() bool      { return s.other }

// plainEvidence is of a step that every check accepts.
func plainEvidence() *evidence {
	s := step(sp0+16, midPC, 0)
	return &evidence{
		candidate: candidate{step: &s, strategy: "f", trust: unwind.TrustFramePointer}, call: &callFinding{}, arch: unwind.AMD64, depth: 2, sp: sp0, pc: midPC, callerSP: sp0 + 16, havePC: true, haveSP: true,
		frame:  &unwind.Frame{PC: unwind.Code(leafPC, unwind.KindReturn), Trust: unwind.TrustCFI},
		callee: &place{Function{Name: "leaf"}, true}, caller: &place{Function{Name: "mid"}, true},
		witness: stubWitness{}, segments: []unwind.Segment{cStack, {Low: 0x6000_0000, High: 0x6000_1000, Kind: unwind.SegmentG0}}, floor: sp0, mappings: true,
	}
}

// TestChecks: each check accepts one step, and refuses, doubts or holds back
// another.
func TestChecks(t *testing.T) {
	scan := func(ev *evidence) { ev.step.Trust = unwind.TrustScan }
	tested := make(map[string]bool)
	for name, cases := range map[string][]struct {
		what   string
		change func(*evidence)
		want   answer
		why    string
	}{
		"own code": {
			{"the code has it there", func(ev *evidence) {
				ev.witness = stubWitness{known: true, code: expected{cfa: sp0 + 16, ra: midPC, haveRA: true}}
			}, accept, ""},
			{"another CFA", func(ev *evidence) { ev.witness = stubWitness{known: true, code: expected{cfa: sp0 + 8}} }, refuse, "puts its CFA at"},
			{"another return address", func(ev *evidence) {
				ev.witness = stubWitness{known: true, code: expected{cfa: sp0 + 16, ra: outerPC, haveRA: true}}
			}, refuse, "puts the return address"},
			{"a record elsewhere in its frame", func(ev *evidence) {
				ev.arch, ev.witness = unwind.ARM64, stubWitness{known: true, code: expected{cfa: sp0 + 8}}
			}, accept, ""},
			{"tables behind an indirect call", func(ev *evidence) {
				ev.step.Trust, ev.call.unproven, ev.witness = unwind.TrustCFI, true, stubWitness{known: true, proves: true, code: expected{cfa: sp0 + 8}}
			}, refuse, "puts its CFA at"},
			{"tables in a recursion", func(ev *evidence) {
				ev.callee.Start = 0x401000
				ev.step.Trust, ev.caller, ev.witness = unwind.TrustCFI, ev.callee, stubWitness{known: true, proves: true, code: expected{cfa: sp0 + 8}}
			}, refuse, "puts its CFA at"},
			{"tables with another frame pointer", func(ev *evidence) {
				ev.step.Trust, ev.witness = unwind.TrustCFI, stubWitness{known: true, proves: true, code: expected{cfa: sp0 + 16, fp: 1, haveFP: true}}
				ev.step.Caller.Set(unwind.AMD64RBP, 2)
			}, refuse, "puts the frame pointer"},
			{"tables where the code is not certain", func(ev *evidence) {
				ev.step.Trust, ev.call.unproven, ev.witness = unwind.TrustCFI, true, stubWitness{known: true, code: expected{cfa: sp0 + 8}}
			}, accept, ""},
		},
		"goexit": {{"elsewhere", nil, accept, ""}, {"below the top", func(ev *evidence) { ev.misplacedGoexit = true }, refuse, "not at the top"}},
		"call":   {{"leads here", nil, accept, ""}, {"leads elsewhere", func(ev *evidence) { ev.call.refusal = "no call" }, refuse, "no call"}},
		"known function": {{"in one", nil, accept, ""},
			{"in none", func(ev *evidence) { scan(ev); ev.inNoFunction = true }, refuse, "lies in no function"}},
		"scan first": {
			{"none follows", scan, accept, ""},
			{"a guess", func(ev *evidence) { scan(ev); ev.scanFollows = true }, wait, "keeps a frame pointer"},
			{"code shows it", func(ev *evidence) { scan(ev); ev.scanFollows, ev.witness = true, stubWitness{own: agreement{ok: true}} }, accept, ""},
			{"enough have waited", func(ev *evidence) { scan(ev); ev.scanFollows, ev.soFar.waited = true, maxScanned }, accept, ""},
		},
		"nearest": {
			{"a nearer caller", func(ev *evidence) { scan(ev); ev.scans, ev.bound = true, &candidate{step: &unwind.Step{CFA: sp0 + 32}} }, accept, ""},
			{"a farther one", func(ev *evidence) { scan(ev); ev.scans, ev.bound = true, &candidate{step: &unwind.Step{CFA: sp0 + 8}} }, refuse, "leads to a nearer caller"},
		},
		"registers": {{"both", nil, accept, ""}, {"no PC", func(ev *evidence) { ev.havePC = false }, refuse, "no return address"},
			{"no SP", func(ev *evidence) { ev.haveSP = false }, refuse, "no stack pointer"}},
		"code address": {
			{"in code", nil, accept, ""},
			{"a small number", func(ev *evidence) { ev.pc = 4095 }, refuse, "below 4096"},
			{"a hole in the addresses", func(ev *evidence) { ev.pc = 0x8000_0000_0000 }, refuse, "is not canonical"},
			{"the end of the hole", func(ev *evidence) { ev.pc = 0xffff_8000_0000_0000 }, accept, ""},
			{"above all", func(ev *evidence) { ev.arch, ev.pc = unwind.ARM64, ^uint64(0) }, refuse, "above the user address space"},
			{"outside", func(ev *evidence) { ev.outside = true }, refuse, "outside every executable mapping"},
			{"what could not be fetched from", func(ev *evidence) { ev.outside, ev.interrupted = true, true }, accept, ""},
		},
		"alignment": {{"of 8", nil, accept, ""}, {"of 4", func(ev *evidence) { ev.callerSP += 4 }, refuse, "not aligned to 8"},
			{"of 8 on arm64", func(ev *evidence) { ev.arch, ev.callerSP = unwind.ARM64, sp0+24 }, refuse, "not aligned to 16"}},
		"stack": {
			{"the same", nil, accept, ""},
			{"another", func(ev *evidence) { ev.to = 1 }, refuse, "another stack"},
			{"a switch", func(ev *evidence) { ev.to, ev.switches = 1, true }, accept, ""},
			{"none", func(ev *evidence) { ev.to = -1 }, refuse, "outside the thread's stacks"},
			{"one that was found", func(ev *evidence) { ev.to, ev.found = -1, &cStack }, accept, ""},
			{"none are known", func(ev *evidence) { ev.to, ev.segments = -1, nil }, accept, ""},
		},
		"order": {
			{"above", nil, accept, ""},
			{"not above", func(ev *evidence) { ev.callerSP = sp0 }, refuse, "not above"},
			{"a leaf on arm64", func(ev *evidence) { ev.arch, ev.callerSP, ev.soFar.fresh = unwind.ARM64, sp0, true }, accept, ""},
			{"a leaf that has called", func(ev *evidence) { ev.arch, ev.callerSP = unwind.ARM64, sp0 }, refuse, "not above"},
			{"itself", func(ev *evidence) { ev.arch, ev.callerSP, ev.soFar.fresh, ev.pc = unwind.ARM64, sp0, true, leafPC }, refuse, "not above"},
		},
		"unchecked frame pointer": {
			{"known code", nil, accept, ""},
			{"unknown code", func(ev *evidence) { ev.callee.known = false }, doubt, "could not be checked"},
			{"code that does not tell", func(ev *evidence) { ev.witness = stubWitness{silent: true} }, doubt, "could not be checked"},
			{"innermost", func(ev *evidence) {
				ev.callee.known, ev.frame.PC = false, unwind.Code(leafPC, unwind.KindInstruction)
			}, accept, ""},
		},
		"uncertain call": {{"a call", nil, accept, ""}, {"a landing pad", func(ev *evidence) { ev.call.doubt = "perhaps" }, doubt, "perhaps"}},
		"nearer caller": {{"none", nil, accept, ""},
			{"one", func(ev *evidence) { ev.witness = stubWitness{other: true} }, doubt, "a nearer caller fits"},
			{"the way to interrupted code", func(ev *evidence) {
				ev.witness, ev.step.CallerKind = stubWitness{other: true}, unwind.KindInstruction
			}, accept, ""}},
		"after a refusal": {{"the first", nil, accept, ""},
			{"the second", func(ev *evidence) { ev.better = "tables" }, doubt, "tables's step was refused"}},
		"guess": {{"a chain", nil, accept, ""}},
		"rests on a guess": {
			{"on none", nil, accept, ""},
			{"on one", func(ev *evidence) { ev.soFar.guess = 1 }, doubt, "rests on a frame"},
			{"on a scan", func(ev *evidence) { ev.frame.Trust = unwind.TrustScan }, doubt, "rests on a frame"},
			{"on a scan, by a call", func(ev *evidence) { ev.frame.Trust, ev.witness = unwind.TrustScan, stubWitness{called: true} }, accept, ""},
		},
	} {
		var check *check
		for i := range checks {
			if checks[i].name == name {
				check = &checks[i]
			}
		}
		for _, c := range cases {
			ev := plainEvidence()
			if c.change != nil {
				c.change(ev)
			}
			var v verdict
			if s := check.steps; ev.step.Trust >= s.from && ev.step.Trust <= s.to {
				v = check.judge(ev)
			}
			if v.answer != c.want || !strings.Contains(v.why, c.why) {
				t.Errorf("%s: %s: %v %q; want %v %q", name, c.what, v.answer, v.why, c.want, c.why)
			}
			tested[name] = true
		}
	}
	for i := range checks {
		if !tested[checks[i].name] {
			t.Errorf("%s: no case", checks[i].name)
		}
	}
}

// TestGuess: a step that no code shows to be right is a guess, whatever else is.
func TestGuess(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*evidence)
		want   verdict
	}{
		"a scan":                    {func(ev *evidence) { ev.scans = true }, verdict{guess: true}},
		"a scan that code confirms": {func(ev *evidence) { ev.scans, ev.witness = true, stubWitness{own: agreement{ok: true, frame: true}} }, verdict{}},
		"but for its frame pointer": {func(ev *evidence) { ev.scans, ev.witness = true, stubWitness{own: agreement{ok: true}} }, verdict{noFrame: true}},
		"the second":                {func(ev *evidence) { ev.scans, ev.soFar.guess = true, 1 }, verdict{}},
		"a frame pointer":           {func(ev *evidence) { ev.step.Trust = unwind.TrustScan }, verdict{guess: true}},
		"a call led here":           {func(ev *evidence) { ev.step.Trust, ev.witness = unwind.TrustScan, stubWitness{called: true} }, verdict{}},
		"tables that are doubted":   {func(ev *evidence) { ev.step.Trust, ev.trust = unwind.TrustScan, unwind.TrustCFI }, verdict{}},
		"a call to nowhere":         {func(ev *evidence) { ev.step.Trust, ev.wild = unwind.TrustScan, true }, verdict{}},
	} {
		ev := plainEvidence()
		c.change(ev)
		if got := isNoGuess(ev); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

// TestJudge: the first refusal wins, every doubt counts, the first note is kept.
func TestJudge(t *testing.T) {
	ev := plainEvidence()
	ev.callerSP, ev.pc = sp0+4, 0
	if v := judge(ev); v.answer != refuse || !strings.Contains(v.why, "below 4096") {
		t.Errorf("%+v", v)
	}
	ev = plainEvidence()
	ev.step.Trust, ev.call.doubt, ev.better = unwind.TrustCFI, "the first", "tables"
	if v := judge(ev); v.answer != accept || ev.step.Trust != unwind.TrustScan || ev.step.Note != "the first" {
		t.Errorf("%+v, trust %v, note %q", v, ev.step.Trust, ev.step.Note)
	}
	if ev = plainEvidence(); judge(ev) != (verdict{}) || ev.step.Trust != unwind.TrustFramePointer || ev.step.Note != "" {
		t.Errorf("a plain step: trust %v, note %q", ev.step.Trust, ev.step.Note)
	}
}

// TestRefusedGuess: a frame pointer that was refused bounds scans as well.
func TestRefusedGuess(t *testing.T) {
	ev := plainEvidence()
	ev.step.Trust, ev.scanFollows, ev.call.refusal = unwind.TrustScan, true, "no call"
	if v := judge(ev); v.answer != refuse || v.why != "no call" || !v.bounds {
		t.Errorf("a guess that is refused: %+v", v)
	}
}

// TestCarried: what a walk carries changes with accepted steps alone.
func TestCarried(t *testing.T) {
	var c carried
	ev := plainEvidence()
	ev.scans, ev.call.unproven = true, true
	c.accepted(ev, true)
	c.accepted(ev, true)
	if want := (carried{guess: 2, scanned: 2, scannedInRow: 2, unproven: 2}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	ev = plainEvidence()
	ev.callee.Name, ev.callee.Go, ev.step.CallerKind = "runtime.schedule", true, unwind.KindInstruction
	c.accepted(ev, false)
	if want := (carried{guess: 2, scanned: 2, fresh: true, scheduled: true}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	ev.onGoroutine = true
	if c.accepted(ev, false); c.scheduled {
		t.Error("on a goroutine's stack the scheduler was called for another one")
	}
}

// TestEnds: what decides that a stack ends, and what speaks against it.
func TestEnds(t *testing.T) {
	tested := make(map[string]bool)
	for what, c := range map[string]struct {
		name   string
		change func(*ending)
		want   endAnswer
	}{
		"near the top":                   {"", func(*ending) {}, isEnd},
		"goexit":                         {"outermost function", func(e *ending) { e.outermost = true }, isEnd},
		"goexit above a guess":           {"a guess below an outermost function", func(e *ending) { e.outermost, e.guessed = true, "guess" }, uncertain},
		"a scan's word":                  {"scan", func(e *ending) { e.scans = true }, noEnd},
		"Go code":                        {"Go", func(e *ending) { e.function = &place{Function{Go: true}, true} }, noEnd},
		"no caller, by tables":           {"tables", func(e *ending) { e.byTables, e.stack.Kind = true, unwind.SegmentSignal }, isEnd},
		"at once, below the stack":       {"below the stack", func(e *ending) { e.byTables, e.below = true, true }, noEnd},
		"the same above a guess":         {"a guess below tables", func(e *ending) { e.byTables, e.guessed = true, "guess" }, uncertain},
		"a word above a guess":           {"guess", func(e *ending) { e.guessed = "guess" }, noEnd},
		"a frame pointer at once":        {"innermost", func(e *ending) { e.byFP, e.marked, e.depth = true, true, 1 }, noEnd},
		"a frame pointer out of nowhere": {"not marked", func(e *ending) { e.byFP = true }, noEnd},
		"a frame pointer set to 0":       {"", func(e *ending) { e.byFP, e.marked = true, true }, isEnd},
		"an unknown stack":               {"unknown stack", func(e *ending) { e.stack = unwind.Segment{} }, isEnd},
		"a handler":                      {"signal", func(e *ending) { e.stack.Kind = unwind.SegmentSignal }, noEnd},
		"C under a goroutine":            {"called by Go", func(e *ending) { e.stack.Kind, e.goroutine = unwind.SegmentG0, true }, noEnd},
		"C under none":                   {"", func(e *ending) { e.stack.Kind = unwind.SegmentG0 }, isEnd},
		"far below the top":              {"far from the top", func(e *ending) { e.stack.High += 1 << 20 }, noEnd},
	} {
		e := &ending{reason: "the end", depth: 2, function: &place{}, stack: cStack, sp: cStack.High - 64}
		c.change(e)
		got, why, by := e.judge()
		if got != c.want || (got != isEnd) != (why != "") || c.name != "" && (by.name != "end: "+c.name || by.rule == "") {
			t.Errorf("%s: %v %q by %v, want %v", what, got, why, by, c.want)
		}
		tested[c.name] = true
	}
	for i := range ends {
		if !tested[ends[i].name] {
			t.Errorf("%s: no case", ends[i].name)
		}
	}
}
