package delve

import (
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// KnowCode tells the session where to find the code of Go's runtime, which the
// layout of its structures is read from where the program has no DWARF.
func (s *Session) KnowCode(code gocode.Code) { s.code = code }

// codeLayout reads what stacks need of the layout from the runtime's code, where
// there is no DWARF. Goroutines' IDs and states stay unknown.
func codeLayout(arch unwind.Arch, code gocode.Code) (*layout, error) {
	c, err := gocode.ReadLayout(arch, code)
	if err != nil {
		return nil, err
	}
	return &layout{
		tls: c.TLS, gStackLo: c.StackLo, gStackHi: c.StackHi, gM: c.M, gSchedPC: c.SchedPC, gSchedSP: c.SchedSP, gSchedBP: c.SchedBP,
		mG0: c.G0, mGsignal: c.Gsignal, mCurg: c.Curg,
		gSize: max(c.StackHi, c.M, c.SchedPC, c.SchedSP, c.SchedBP) + 8,
		gGoid: -1, gStatus: -1, gStartPC: -1, gSchedLR: -1, gSyscallSP: -1, gSyscallPC: -1, gSyscallB: -1, gLockedM: -1, mIsExtra: -1,
	}, nil
}
