package tablewalk

import (
	"sync/atomic"

	"github.com/clewdbg/clew/internal/unwind/apply"
	"github.com/clewdbg/clew/unwind"
)

// Row is a row of rules that can be applied. The errors are those of package
// apply.
type Row interface {
	Unwind(frame *apply.Frame, caller *apply.Caller) error
}

// Rule is what is known of a frame at an address. It is not changed once it is
// made.
type Rule struct {
	Row  Row
	Text string // as an equation
	// Signal says that the caller was interrupted by a signal.
	Signal bool
	// Doubt is why the rule may be wrong, empty as a rule: it is the step's note,
	// and the step has the trust of a scanned frame.
	Doubt string
	// Settle decides about a doubt by the code of the function that an innermost
	// frame stopped in: it gives the rule that counts, nil where the code does not
	// tell. It may be nil; the host sends code to strategies that want it.
	Settle func(f *unwind.FunctionCode, regs *unwind.Registers) *Rule
	// Trust of the step, where that is not the strategy's.
	Trust unwind.Trust
	// Note is what else the user should know of the step.
	Note string
}

// cached is a rule and what it is for.
type cached struct {
	arch unwind.Arch
	code unwind.CodeAddr
	rule *Rule
}

// cacheBits is the size of the cache: 4096 rules. A stack has fewer places as a
// rule, however deep it is.
const cacheBits = 12

// cache keeps rules by address. Each address has one place; who comes later
// takes it. Readers and writers need no lock, since a rule is never changed.
type cache struct {
	places [1 << cacheBits]atomic.Pointer[cached]
}

func (c *cache) place(code unwind.CodeAddr) *atomic.Pointer[cached] {
	const golden = 0x9e37_79b9_7f4a_7c15 // Knuth's multiplicative hashing
	return &c.places[(code.Raw()*2+uint64(code.Kind()))*golden>>(64-cacheBits)]
}

// rule gives the rule at an address; without one it is nil, and err says what
// is wrong if there should be one.
func (s *state) rule(arch unwind.Arch, code unwind.CodeAddr) (*Rule, error) {
	place := s.cache.place(code)
	if c := place.Load(); c != nil && c.code == code && c.arch == arch {
		return c.rule, nil
	}
	rule, err := s.find(arch, code)
	if rule != nil && err == nil {
		place.Store(&cached{arch: arch, code: code, rule: rule})
	}
	return rule, err
}
