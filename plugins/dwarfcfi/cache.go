package dwarfcfi

import (
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi"
)

// rule is what is known of a frame at an address.
type rule struct {
	arch unwind.Arch
	code unwind.CodeAddr
	row  *cfi.Row
	text string
	// doubtful says that the tables may be right at calls only, and the
	// instruction is none.
	doubtful bool
}

// cacheBits is the size of the cache: 4096 rules. A stack has fewer places as a
// rule, however deep it is.
const cacheBits = 12

// cache keeps rules by address. Each address has one place; who comes later
// takes it. Readers and writers need no lock, since a rule is never changed.
type cache struct {
	places [1 << cacheBits]atomic.Pointer[rule]
}

func (c *cache) place(code unwind.CodeAddr) *atomic.Pointer[rule] {
	const golden = 0x9e37_79b9_7f4a_7c15 // Knuth's multiplicative hashing
	return &c.places[(code.Raw()*2+uint64(code.Kind()))*golden>>(64-cacheBits)]
}

// rule gives the rule at an address; without one it is nil, and err says what
// is wrong if there should be one.
func (s *state) rule(arch unwind.Arch, code unwind.CodeAddr) (*rule, error) {
	place := s.cache.place(code)
	if r := place.Load(); r != nil && r.code == code && r.arch == arch {
		return r, nil
	}
	at := uint64(code.Lookup(arch))
	table, fde, ok := s.find(arch, at)
	if code.Kind() == unwind.KindReturn {
		// A signal's trampoline is returned to without having been called: the byte
		// before it may be another function's, or no one's.
		if t, f, found := s.find(arch, code.Raw()); found && f.Signal() {
			table, fde, ok, at = t, f, true, code.Raw()
		}
	}
	if !ok {
		return nil, nil
	}
	row, err := table.Row(&fde, at)
	if err != nil {
		return nil, err
	}
	r := &rule{arch: arch, code: code, row: row, text: row.String(),
		doubtful: row.Synchronous && code.Kind() == unwind.KindInstruction && at != fde.Start}
	place.Store(r)
	return r, nil
}
