package held

// fromC are functions of Go's runtime that stacks from C into Go go through.
var fromC = []string{"runtime.cgocall", "runtime.asmcgocall", "runtime.main", "runtime.goexit"}

// ReadAhead has Delve read what its frames of these functions need: a millisecond or two the first time, which
// is not noticed before the program runs.
func (p *Program) ReadAhead() {
	defer func() { _ = recover() }() // Delve's code does not survive corrupt tables; it will say so when it is asked
	group, unlock, err := p.Stopped()
	if err != nil {
		return
	}
	defer unlock()
	bi := group.Selected.BinInfo()
	for _, name := range fromC {
		for _, fn := range bi.LookupFunc()[name] {
			bi.PCToLine(fn.Entry)
		}
	}
}
