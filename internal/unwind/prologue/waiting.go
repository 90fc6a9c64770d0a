package prologue

// A frame that waits in a call: its state is that of the call, which leaves the stack pointer and the callee-saved
// registers alone, and not that of the instruction at the return address. The call may be one that does not return,
// and what lies behind it another path's code, or another function's.

const reasonClobbered = "the call may have changed the register that finds the frame"

// AMD64Waiting is [AMD64] for a frame that waits in a call, which returns to ra. Without such a call it is the rule
// at ra.
func AMD64Waiting(code []byte, start, ra uint64) (Rule, Verdict) {
	return waiting(&amd64Arch, code, start, ra)
}

// ARM64Waiting is [AMD64Waiting] for arm64 code.
func ARM64Waiting(code []byte, start, ra uint64) (Rule, Verdict) {
	return waiting(&arm64Arch, code, start, ra)
}

// maxInstruction is the longest instruction of amd64, in bytes.
const maxInstruction = 15

// Calls returns the addresses where a call may begin that returns to ra. Instructions of amd64 cannot be read
// backwards: of several that end there a walk from the function's start reaches one.
func (d *Decoder) Calls(wide bool, code []byte, start, ra uint64) (list []uint64) {
	if ra < start || ra-start > uint64(len(code)) {
		return nil
	}
	decode, least, most := d.AMD64, uint64(2), uint64(maxInstruction)
	if wide {
		decode, least, most = d.ARM64, 4, 4
	}
	for n := least; n <= min(most, ra-start); n++ {
		in := decode(code[ra-n-start:ra-start], ra-n)
		if in.Len == int(n) && (in.Flow == FlowCall || in.Flow == FlowCallIndirect) {
			list = append(list, ra-n)
		}
	}
	return list
}

func waiting(a *arch, code []byte, start, ra uint64) (Rule, Verdict) {
	var d Decoder
	for _, at := range d.Calls(a.wide, code, start, ra) {
		if r, v := analyse(a, code, start, at, Expr{}); v.Kind != Unknown {
			return a.called(r, v)
		}
	}
	return analyse(a, code, start, ra, Expr{})
}

// called takes out of the rule at a call what the call may change.
func (a *arch) called(r Rule, v Verdict) (Rule, Verdict) {
	changed := func(reg Reg) bool { return reg < 32 && a.callerSaved>>reg&1 != 0 }
	lost := func(loc Loc) bool { return (loc.Kind == InReg || loc.Kind == AtReg) && changed(loc.Reg) }
	if changed(r.CFA.Base) || lost(r.RA) || a.wide && r.RA.Kind == Same {
		return Rule{}, Verdict{Reason: reasonClobbered}
	}
	if lost(r.FP) {
		r.FP = Loc{Kind: Lost}
	}
	for i := range r.Saved[:r.N] {
		if lost(r.Saved[i].Loc) {
			r.Saved[i].Loc = Loc{Kind: Lost}
		}
	}
	return r, v
}
