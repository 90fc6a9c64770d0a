package debuggee

import (
	"context"
	"debug/elf"
	"slices"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Warm prepares, while the client sets its breakpoints, what stacks will need. A program that
// links nothing needs no strategy as a rule, and what one needs after all is started then.
func (l *Program) Warm() {
	t := l.Target()
	if t == nil || !t.Live() || l.Remote != nil || !links(procfs.Path(t.Pid(), "exe")) {
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

// StartAhead starts the best-ranked strategy while Delve reads an executable that links libraries: until its process
// serves takes as long as all the rest of a first stack. What fails is said by the first stack.
func (l *Program) StartAhead(executable string) {
	if l.Remote != nil || !links(executable) {
		return
	}
	go func() {
		_ = l.Stops.Alone(l.Wire.Context(), func(ctx context.Context) error {
			o, err := l.Open(l.Config.Get().Strategies)
			if err != nil {
				return err
			}
			return o.Engine.Start(ctx)
		})
	}()
}

// links says whether an executable links libraries.
func links(executable string) bool {
	f, err := elffile.Open(executable)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
