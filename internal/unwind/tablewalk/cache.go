package tablewalk

import (
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Rule is the rule for a frame at an address. It is not changed once a walk has
// it.
type Rule struct {
	rule.Rule
	// Doubt is the reason for which the rule may be wrong, usually empty: it is
	// the step's note, and the step has the trust of a scanned frame.
	Doubt string
	// Settle decides about a doubt by the code of the function that an innermost
	// frame stopped in: it returns the rule that counts, nil if the code does not
	// decide. It may be nil; the host sends code to strategies that want it.
	Settle func(f *unwind.FunctionCode, regs *unwind.Registers) *Rule
	// Trust of the step, where that is not the strategy's.
	Trust unwind.Trust
	// Note is a further remark on the step for the user.
	Note string

	text  string // as equations, see write
	whole string // the same with every saved register
}

// write writes the rule as equations, once for all steps by it.
func (r *Rule) write() *Rule {
	if r != nil {
		r.text, r.whole = r.String(), r.Whole()
	}
	return r
}

// cached is a rule with its key.
type cached struct {
	arch unwind.Arch
	code unwind.CodeAddr
	rule *Rule
}

// cacheBits is the size of the cache: 4096 rules. A stack has fewer places as a
// rule, however deep it is.
const cacheBits = 12

// cache keeps rules by address. Each address has one place; a later one
// takes it. Readers and writers need no lock, since a rule is never changed.
type cache struct {
	places [1 << cacheBits]atomic.Pointer[cached]
}

func (c *cache) place(code unwind.CodeAddr) *atomic.Pointer[cached] {
	const golden = 0x9e37_79b9_7f4a_7c15 // Knuth's multiplicative hashing
	return &c.places[(code.Raw()*2+uint64(code.Kind()))*golden>>(64-cacheBits)]
}

// rule returns the rule at an address; without one it is nil, with an error if
// there should be one.
func (s *state) rule(arch unwind.Arch, code unwind.CodeAddr) (*Rule, error) {
	place := s.cache.place(code)
	if c := place.Load(); c != nil && c.code == code && c.arch == arch {
		return c.rule, nil
	}
	found, err := s.find(arch, code)
	if found != nil && err == nil {
		place.Store(&cached{arch: arch, code: code, rule: found.write()})
	}
	return found, err
}
