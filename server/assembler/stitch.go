package assembler

import (
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// matchClaim returns Delve's physical frame with that PC and SP, and the caller that
// Delve has for it; nil without one.
func matchClaim(claims []unwind.Frame, pc, sp uint64, arch unwind.Arch) (callee, caller *unwind.Frame) {
	for i := range claims {
		c := &claims[i]
		if c.Inlined {
			continue
		}
		if callee != nil {
			return callee, c
		}
		if csp, ok := c.Registers.SP(arch); ok && csp == sp && c.PC.Raw() == pc {
			if c.CFA == 0 {
				break
			}
			callee = c
		}
	}
	return nil, nil
}

// delvePrefix is what Delve puts before names of functions that are not Go's.
const delvePrefix = "C."

// claimsGo says whether a frame of Delve's is of Go code. What Delve says of other code does not count.
func claimsGo(claim *unwind.Frame) bool {
	return claim.Function != "" && !strings.HasPrefix(claim.Function, delvePrefix)
}

// stitch sets the index in Delve's stack of every frame of Go code that Delve knows too, and
// puts the inlined frames, which only Delve sees, where they belong. A frame of
// Delve's and one of ours are the same activation when PC and CFA agree, or PC
// and SP (R15: at a stack switch the two define the CFA differently). Delve's
// frames that match none of ours are rejected and do not appear.
func stitch(arch unwind.Arch, stack *unwind.Stack, claims []unwind.Frame) {
	if len(claims) == 0 {
		return
	}
	index := indexClaims(arch, claims)
	out := make([]unwind.Frame, 0, len(stack.Frames)+len(claims)/4)
	for _, f := range stack.Frames {
		i, ok := index.find(arch, &f)
		if !ok || !claimsGo(&claims[i]) {
			out = append(out, f)
			continue
		}
		first := i
		for first > 0 && claims[first-1].Inlined && claims[first-1].CFA == claims[i].CFA {
			first--
		}
		for j := first; j < i; j++ {
			in := claims[j]
			in.PC, in.Registers, in.CFA, in.Segment = f.PC, f.Registers, f.CFA, f.Segment
			in.Strategy, in.Trust, in.DelveFrame = f.Strategy, f.Trust, j // R1: the trust of the frame it lies in
			out = append(out, in)
		}
		f.DelveFrame = i
		f.Function, f.File, f.Line = claims[i].Function, claims[i].File, claims[i].Line
		out = append(out, f)
	}
	stack.Frames = out
}

// claimKey is the key of a Delve frame: its PC, and its CFA or SP.
type claimKey struct {
	pc, at uint64
	bySP   bool
}

// claimIndex maps every key to Delve's physical frame; of several with the same
// key the first counts.
type claimIndex map[claimKey]int

func (x claimIndex) find(arch unwind.Arch, f *unwind.Frame) (i int, ok bool) {
	if i, ok = x[claimKey{f.PC.Raw(), f.CFA, false}]; !ok {
		sp, _ := f.Registers.SP(arch)
		i, ok = x[claimKey{f.PC.Raw(), sp, true}]
	}
	return i, ok
}

func indexClaims(arch unwind.Arch, claims []unwind.Frame) claimIndex {
	index := make(claimIndex, 2*len(claims))
	calleeCFA := uint64(0)
	for i := range claims {
		c := &claims[i]
		if c.Inlined {
			continue
		}
		// The SP is the callee's CFA, and more reliably than the register: Delve
		// overwrites that one where it switches stacks.
		sp, _ := c.Registers.SP(arch)
		for _, k := range []claimKey{{c.PC.Raw(), c.CFA, false}, {c.PC.Raw(), calleeCFA, true}, {c.PC.Raw(), sp, true}} {
			if _, taken := index[k]; k.at != 0 && !taken {
				index[k] = i
			}
		}
		calleeCFA = c.CFA
	}
	return index
}
