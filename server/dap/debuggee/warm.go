package debuggee

import (
	"context"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/elffile"
)

// Warm starts, while the client sets its breakpoints, the strategies that stacks will need: at
// the first stop that costs more than all the rest. A program that links nothing needs none as
// a rule, and what one needs after all is started then.
func (l *Program) Warm() {
	t := l.Target()
	if t == nil || !t.Live() || l.Remote != nil {
		return
	}
	go func() {
		var warm func(context.Context, func(string) bool)
		err := l.Stops.Alone(l.Wire.Context(), func(context.Context) error {
			o, err := l.Open(l.Config.Get().Strategies)
			if err == nil {
				warm = o.Strategies.Warm
			}
			return err
		})
		if sections := linkedSections(t.Pid()); err == nil && warm != nil && sections != nil {
			warm(l.Wire.Context(), func(name string) bool { return slices.Contains(sections, name) })
		}
	}()
}

// linkedSections names the sections of a process's executable, nil if it links no library.
func linkedSections(pid int) (names []string) {
	f, err := elffile.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil
	}
	for _, s := range f.Sections {
		names = append(names, s.Name)
	}
	return names
}
