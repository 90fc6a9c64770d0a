package simulate

import (
	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Row is a rule that was found by simulation, for one instruction. It is not
// changed by its methods.
type Row struct {
	Rule prologue.Rule
	// Body says that the instruction lies in the function's body: what tables say
	// of the function holds there too.
	Body bool

	arch *architecture
}

// architecture is what the simulation has of an architecture.
type architecture struct {
	unwind.Arch
	find func(code []byte, start, pc uint64, body prologue.Expr) (prologue.Rule, prologue.Verdict)
}

var architectures = map[unwind.Arch]*architecture{
	unwind.AMD64: {unwind.AMD64, prologue.AMD64Body},
	unwind.ARM64: {unwind.ARM64, prologue.ARM64Body},
}

// At simulates a function from its first instruction on, at start, and gives the
// rule at pc: nil where there is none, with the reason. code holds original
// bytes, from start to the function's end or some way beyond pc. sure is false
// where the rule is only likely.
func At(arch unwind.Arch, code []byte, start, pc uint64) (row *Row, sure bool, reason string) {
	return at(arch, code, start, pc, prologue.Expr{})
}

// InBody is [At] for a function in whose body, as a table says, the CFA is a
// register plus an offset. That settles which frame code has that is reached by
// indirect jumps only: targets of jump tables, landing pads of exceptions.
func InBody(arch unwind.Arch, code []byte, start, pc uint64, base unwind.Register, offset int64) (row *Row, sure bool, reason string) {
	return at(arch, code, start, pc, prologue.Expr{Base: prologue.Reg(base), Off: offset})
}

func at(arch unwind.Arch, code []byte, start, pc uint64, cfa prologue.Expr) (row *Row, sure bool, reason string) {
	a := architectures[arch]
	if a == nil {
		return nil, false, "code of " + arch.String() + " is not simulated"
	}
	rule, verdict := a.find(code, start, pc, cfa)
	if verdict.Kind == prologue.Unknown || rule.Certain == prologue.None {
		return nil, false, verdict.Reason
	}
	body := verdict.Kind == prologue.Body || verdict.Kind == prologue.BodyNoFP
	return &Row{Rule: rule, Body: body, arch: a}, rule.Certain == prologue.Exact, ""
}

// Finds says whether the CFA is a register plus an offset by the rule, too.
func (r *Row) Finds(base unwind.Register, offset int64) bool {
	return r.Rule.CFA == prologue.Expr{Base: prologue.Reg(base), Off: offset}
}

// String writes the rule as equations.
func (r *Row) String() string { return Equation(r.arch.Arch, &r.Rule) }

// Unwind applies the rule to a frame. The errors are those of package apply. A
// caller holds what the rule proves, and the callee-saved registers that the
// function has not touched.
func (r *Row) Unwind(f *apply.Frame, caller *apply.Caller) error {
	cfa, err := r.cfa(f)
	if err != nil {
		return err
	}
	*caller = apply.Caller{CFA: cfa, Kind: unwind.KindReturn}
	out := &caller.Registers
	out.Set(r.arch.SP(), cfa)
	for _, reg := range r.arch.CalleeSaved() {
		if v, ok := f.Registers.Get(reg); ok {
			out.Set(reg, v)
		}
	}
	for i := range r.Rule.Saved[:r.Rule.N] {
		if err := r.restore(f, out, unwind.Register(r.Rule.Saved[i].Reg), r.Rule.Saved[i].Loc, cfa); err != nil {
			return err
		}
	}
	if err := r.restore(f, out, r.arch.FP(), r.Rule.FP, cfa); err != nil {
		return err
	}
	ra, known, err := r.locate(f, r.arch.LR(), r.Rule.RA, cfa)
	if err != nil {
		return err
	}
	if !known {
		return &apply.MissingRegister{Register: r.arch.LR(), Name: "a register", For: "the return address"}
	}
	out.Set(r.arch.PC(), apply.Strip(ra, f.PACMask))
	return nil
}

func (r *Row) cfa(f *apply.Frame) (uint64, error) {
	e := r.Rule.CFA
	base, ok := f.Registers.Get(unwind.Register(e.Base))
	if !ok {
		return 0, &apply.MissingRegister{Register: unwind.Register(e.Base), Name: r.arch.RegisterName(unwind.Register(e.Base)), For: "the CFA"}
	}
	v, err := apply.Add(base, e.Off, 0)
	if err != nil || !e.Deref {
		return v, err
	}
	if v, err = r.word(f, v); err != nil {
		return 0, err
	}
	return apply.Add(v, e.Add, 0)
}

// restore sets a caller's register, or forgets one that is lost.
func (r *Row) restore(f *apply.Frame, out *unwind.Registers, reg unwind.Register, loc prologue.Loc, cfa uint64) error {
	v, known, err := r.locate(f, reg, loc, cfa)
	switch {
	case err != nil:
		return err
	case known:
		out.Set(reg, v)
	default:
		out.Forget(reg)
	}
	return nil
}

// locate finds the caller's value of a register.
func (r *Row) locate(f *apply.Frame, self unwind.Register, loc prologue.Loc, cfa uint64) (v uint64, known bool, err error) {
	base := cfa
	switch loc.Kind {
	case prologue.Same:
		v, known = f.Registers.Get(self)
		return v, known, nil
	case prologue.InReg:
		v, known = f.Registers.Get(unwind.Register(loc.Reg))
		return v, known, nil
	case prologue.AtReg:
		if base, known = f.Registers.Get(unwind.Register(loc.Reg)); !known {
			return 0, false, nil
		}
	case prologue.AtCFA:
	default:
		return 0, false, nil
	}
	addr, err := apply.Add(base, loc.Off, cfa)
	if err != nil {
		return 0, false, err
	}
	v, err = r.word(f, addr)
	return v, err == nil, err
}

func (r *Row) word(f *apply.Frame, addr uint64) (uint64, error) {
	if v, ok := f.Memory.Word(addr, r.arch.ByteOrder()); ok {
		return v, nil
	}
	return 0, apply.Need(addr, 8)
}
