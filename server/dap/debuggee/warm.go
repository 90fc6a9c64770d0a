package debuggee

import (
	"debug/elf"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/engine"
)

// Warm prepares, while the client sets its breakpoints, what stacks will need. A program that
// links nothing needs no strategy as a rule, and what one needs after all is started then.
func (l *Program) Warm() {
	t := l.Target()
	if t == nil || !t.Live() || l.Remote != nil || !links(t.Pid()) {
		return
	}
	l.Stops.Warm(l.Wire.Context(), func() (*engine.Engine, error) {
		o, err := l.Open(l.Config.Get().Strategies)
		if err != nil {
			return nil, err
		}
		return o.Engine, nil
	})
}

// links says whether a process's executable links libraries.
func links(pid int) bool {
	f, err := elffile.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
