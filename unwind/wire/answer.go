package wire

import (
	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
)

// The bits of WalkAnswer.flags.
const (
	flagPC          = 1 << 0
	flagSP          = 1 << 1
	flagFP          = 1 << 2
	flagInterrupted = 1 << 3
	trustShift      = 4
	trustMask       = 7
)

// stringTable assigns strings their index in WalkAnswer.strings. Steps in a row
// mostly share their rule, so the last one is looked at before the map.
type stringTable struct {
	index  map[string]uint32
	list   []string
	last   string
	lastID uint32
}

func (t *stringTable) id(s string) uint32 {
	if s == "" {
		return 0
	}
	if s == t.last {
		return t.lastID
	}
	id, ok := t.index[s]
	if !ok {
		if t.index == nil {
			t.index = make(map[string]uint32)
		}
		t.list = append(t.list, text(s))
		id = uint32(len(t.list))
		t.index[s] = id
	}
	t.last, t.lastID = s, id
	return id
}

// answerToWire turns the results of a batch into columns. requests says which
// architecture each is of, and whether all registers were asked for.
func answerToWire(requests []unwind.WalkRequest, results []unwind.WalkResult) (*pb.WalkAnswer, error) {
	if len(results) != len(requests) {
		return nil, broken("Walk", "%d results for %d requests", len(results), len(requests))
	}
	n, notes := 0, false
	for i := range results {
		n += len(results[i].Steps)
		for k := range results[i].Steps {
			notes = notes || results[i].Steps[k].Note != ""
		}
	}
	columns := make([]uint64, 4*n) // one allocation for the four
	out := &pb.WalkAnswer{
		Ends: make([]*pb.WalkEnd, len(results)),
		Cfa:  columns[:n:n], Pc: columns[n : 2*n : 2*n], Sp: columns[2*n : 3*n : 3*n], Fp: columns[3*n:],
		Flags: make([]byte, n),
		Rule:  make([]uint32, n),
	}
	if notes {
		out.Note = make([]uint32, n)
	}
	var table stringTable
	at := 0
	for i := range results {
		r := &results[i]
		out.Ends[i] = &pb.WalkEnd{
			Steps: uint32(len(r.Steps)), Stop: pb.WalkEnd_Stop(r.Stop), Reason: text(r.Reason),
			Cfa: r.CFA, Pc: r.PC, NeedStart: r.Need.Start, NeedEnd: r.Need.End,
		}
		for k := range r.Steps {
			s := &r.Steps[k]
			out.Cfa[at] = s.CFA
			out.Flags[at] = stepToColumns(out, at, s, requests[i].Arch)
			out.Rule[at] = table.id(s.Rule)
			if notes {
				out.Note[at] = table.id(s.Note)
			}
			if requests[i].AllRegisters || k == len(r.Steps)-1 {
				extraToColumns(out, at, n, &s.Caller, requests[i].Arch)
			}
			at++
		}
	}
	out.Strings = table.list
	return out, nil
}

func stepToColumns(out *pb.WalkAnswer, at int, s *unwind.Step, arch unwind.Arch) byte {
	var flags byte
	var ok bool
	if out.Pc[at], ok = s.Caller.PC(arch); ok {
		flags |= flagPC
	}
	if out.Sp[at], ok = s.Caller.SP(arch); ok {
		flags |= flagSP
	}
	if out.Fp[at], ok = s.Caller.FP(arch); ok {
		flags |= flagFP
	}
	if s.CallerKind == unwind.KindInstruction {
		flags |= flagInterrupted
	}
	return flags | byte(s.Trust&trustMask)<<trustShift
}

func extraToColumns(out *pb.WalkAnswer, at, n int, regs *unwind.Registers, arch unwind.Arch) {
	for reg, v := range regs.All() {
		if reg == arch.PC() || reg == arch.SP() || reg == arch.FP() {
			continue
		}
		if out.ExtraCount == nil {
			out.ExtraCount = make([]uint32, n)
		}
		out.ExtraCount[at]++
		out.ExtraNumber = append(out.ExtraNumber, uint32(reg))
		out.ExtraValue = append(out.ExtraValue, v)
	}
}

// answerFromWire checks an answer against itself and against the requests, and
// converts it.
func answerFromWire(requests []unwind.WalkRequest, p *pb.WalkAnswer) ([]unwind.WalkResult, error) {
	n, err := checkAnswer(requests, p)
	if err != nil {
		return nil, err
	}
	steps := make([]unwind.Step, n) // n is at most MaxFrames of all requests
	results := make([]unwind.WalkResult, len(requests))
	at, extra := 0, 0
	for i, end := range p.GetEnds() {
		results[i] = unwind.WalkResult{
			Stop: unwind.WalkStop(end.GetStop()), Reason: end.GetReason(),
			CFA: end.GetCfa(), PC: end.GetPc(),
			Need: unwind.Range{Start: end.GetNeedStart(), End: end.GetNeedEnd()},
		}
		first := at
		arch := requests[i].Arch
		pc, sp, fp := arch.PC(), arch.SP(), arch.FP()
		for range end.GetSteps() {
			s := &steps[at]
			flags := p.Flags[at]
			s.CFA = p.Cfa[at]
			s.Trust = unwind.Trust(flags >> trustShift & trustMask)
			s.Rule = stringAt(p.Strings, p.Rule[at])
			s.CallerKind = unwind.KindReturn
			if flags&flagInterrupted != 0 {
				s.CallerKind = unwind.KindInstruction
			}
			if flags&flagPC != 0 {
				s.Caller.Set(pc, p.Pc[at])
			}
			if flags&flagSP != 0 {
				s.Caller.Set(sp, p.Sp[at])
			}
			if flags&flagFP != 0 {
				s.Caller.Set(fp, p.Fp[at])
			}
			if len(p.Note) > 0 {
				s.Note = stringAt(p.Strings, p.Note[at])
			}
			if len(p.ExtraCount) > 0 {
				for range p.ExtraCount[at] {
					setRegister(&s.Caller, p.ExtraNumber[extra], p.ExtraValue[extra])
					extra++
				}
			}
			at++
		}
		results[i].Steps = steps[first:at:at]
	}
	return results, nil
}

func stringAt(table []string, id uint32) string {
	if id == 0 {
		return ""
	}
	return table[id-1]
}

// checkAnswer makes sure that every index that answerFromWire uses lies in its
// column, and returns the number of steps.
func checkAnswer(requests []unwind.WalkRequest, p *pb.WalkAnswer) (int, error) {
	const method = "Walk"
	if len(p.GetEnds()) != len(requests) {
		return 0, broken(method, "%d results for %d requests", len(p.GetEnds()), len(requests))
	}
	total := 0
	for i, end := range p.Ends {
		steps := int(end.GetSteps())
		if steps > requests[i].MaxFrames {
			return 0, broken(method, "result %d has %d steps where at most %d were asked for", i, steps, requests[i].MaxFrames)
		}
		if err := checkEnd(i, steps, requests[i].MaxFrames, end); err != nil {
			return 0, err
		}
		total += steps
	}
	for _, c := range []struct {
		name string
		n    int
		may  bool // be empty
	}{
		{"cfa", len(p.Cfa), false}, {"pc", len(p.Pc), false}, {"sp", len(p.Sp), false}, {"fp", len(p.Fp), false},
		{"flags", len(p.Flags), false}, {"rule", len(p.Rule), false},
		{"note", len(p.Note), true}, {"extra_count", len(p.ExtraCount), true},
	} {
		if c.n != total && !(c.may && c.n == 0) {
			return 0, broken(method, "column %s has %d entries for %d steps", c.name, c.n, total)
		}
	}
	for i, f := range p.Flags {
		if !validTrust(pb.Trust(f >> trustShift & trustMask)) {
			return 0, broken(method, "step %d has unknown trust %d", i, f>>trustShift&trustMask)
		}
	}
	for _, column := range [][]uint32{p.Rule, p.Note} {
		for i, id := range column {
			if uint64(id) > uint64(len(p.Strings)) {
				return 0, broken(method, "step %d refers to string %d of %d", i, id, len(p.Strings))
			}
		}
	}
	extra := uint64(0) // cannot overflow: below 2^32 entries of below 2^32 each
	for _, n := range p.ExtraCount {
		extra += uint64(n)
	}
	if extra != uint64(len(p.ExtraNumber)) || extra != uint64(len(p.ExtraValue)) {
		return 0, broken(method, "%d further registers announced, %d numbers and %d values sent", extra, len(p.ExtraNumber), len(p.ExtraValue))
	}
	return total, nil
}

func checkEnd(i, steps, maxFrames int, end *pb.WalkEnd) error {
	const method = "Walk"
	switch end.GetStop() {
	case pb.WalkEnd_STOP_LIMIT:
		// A host that believed this would ask for ever.
		if steps != maxFrames {
			return broken(method, "result %d stops at the limit of %d steps after %d", i, maxFrames, steps)
		}
	case pb.WalkEnd_STOP_MEMORY:
		if end.GetNeedStart() >= end.GetNeedEnd() {
			return broken(method, "result %d asks for the memory %#x-%#x", i, end.GetNeedStart(), end.GetNeedEnd())
		}
	case pb.WalkEnd_STOP_END, pb.WalkEnd_STOP_NO_RULE, pb.WalkEnd_STOP_YIELD, pb.WalkEnd_STOP_BROKEN:
	default:
		return broken(method, "result %d has the unknown stop %d", i, end.GetStop())
	}
	return nil
}
