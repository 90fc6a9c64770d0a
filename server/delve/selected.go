package delve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/pkg/locspec"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
)

// Selection is the goroutine and thread that Delve's commands are about.
type Selection struct {
	Goroutine uint64 // 0 where the current thread runs none
	Thread    uint64
	// Runtime is set if Go's runtime created the thread (see [Thread]).
	Runtime bool
}

// InLibrary says that Delve lists no goroutines: the executable has no Go code, it comes with a
// library; or the program has no DWARF.
func (p *program) InLibrary() bool {
	group, unlock, err := p.Stopped()
	if err != nil {
		return false // whoever asks at a stop fails otherwise, too
	}
	defer unlock()
	bi := group.Selected.BinInfo()
	if inLibrary(bi) {
		return true
	}
	_, err = bi.FindType("runtime.g")
	return err != nil
}

// NotGo says that the executable has no Go code.
func (p *program) NotGo() bool {
	group, unlock, err := p.Stopped()
	if err != nil {
		return false // whoever asks at a stop fails otherwise, too
	}
	defer unlock()
	return inLibrary(group.Selected.BinInfo())
}

func inLibrary(bi *proc.BinaryInfo) bool { return len(bi.Images) > 0 && !bi.Images[0].IsGo }

// Selected returns what Delve's commands are about.
func (s *Session) Selected() (Selection, error) {
	group, unlock, err := s.Stopped()
	if err != nil {
		return Selection{}, err
	}
	defer unlock()
	t := group.Selected
	var sel Selection
	if valid, err := t.Valid(); !valid {
		return sel, err
	}
	if g := t.SelectedGoroutine(); g != nil {
		sel.Goroutine = uint64(g.ID)
	}
	th := t.CurrentThread()
	if th == nil {
		return sel, nil
	}
	sel.Thread = uint64(th.ThreadID())
	if sel.Goroutine == 0 {
		s.loadLayout(t)
		if _, tls, err := targets.Registers(th); err == nil {
			sel.Runtime = s.runtime(t).MadeByGo(s.currentG(t, th, tls, s.machines(t)))
		}
	}
	return sel, nil
}

// SelectThread makes a thread the one that Delve's commands are about.
func (s *Session) SelectThread(tid uint64) error {
	group, unlock, err := s.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return err
	}
	if _, ok := t.FindThread(int(tid)); !ok {
		return fmt.Errorf("there is no thread %d", tid)
	}
	return t.SwitchThread(int(tid))
}

// SubstitutePath replaces the beginning of a path by the first of the rules
// (from, to) that fits, as Delve does.
func SubstitutePath(path string, rules [][2]string) string {
	if len(rules) == 0 {
		return path
	}
	return locspec.SubstitutePath(path, rules)
}

// EditSubstitutePath returns the rules, from the debugger's paths to the client's, as
// they are after the console command `dlv config substitutePath` with these
// arguments, which Delve has carried out. It takes the client's path first.
func EditSubstitutePath(rules [][2]string, arguments string) [][2]string {
	if strings.TrimSpace(arguments) == "-clear" {
		return nil
	}
	fields := config.SplitQuotedFields(arguments, '"')
	if len(fields) == 2 && fields[0] == "-clear" {
		fields = fields[1:]
	}
	if len(fields) == 0 || len(fields) > 2 {
		return rules
	}
	at := slices.IndexFunc(rules, func(rule [2]string) bool { return rule[1] == fields[0] })
	rules = slices.Clone(rules)
	switch {
	case len(fields) == 1 && at >= 0:
		return slices.Delete(rules, at, at+1)
	case len(fields) == 1:
		return rules
	case at >= 0:
		rules[at][0] = fields[1]
		return rules
	}
	return append(rules, [2]string{fields[1], fields[0]})
}
