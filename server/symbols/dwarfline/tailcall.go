package dwarfline

import (
	"debug/dwarf"
	"slices"
)

// tagGNUCallSite is DW_TAG_GNU_call_site, of DWARF before version 5.
const tagGNUCallSite = 0x4109

// callSite is a call, or a jump to another function (a tail call).
type callSite struct {
	at       uint64 // an address of the call's instruction
	ret      uint64 // its return address, 0 if the entry has none
	tail     bool
	target   value // what is called; its form is 0 if that is decided at run time
	indirect bool
}

// callSites are the calls of a function.
type callSites struct {
	u        *unit
	sites    []callSite
	complete bool // no tail call is missing
}

// Entry returns where the function with an address begins.
func (t *Table) Entry(addr uint64) (entry uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, f, ok := t.functionAt(addr)
	if !ok {
		return 0, false
	}
	e, _, err := d.entryAt(f.off)
	if err != nil {
		return 0, false
	}
	return beginOf(d, &e)
}

// functionAt returns the function with an address, and its unit.
func (t *Table) functionAt(addr uint64) (*unit, *tree, bool) {
	for u := range t.unitsAt(addr) {
		d, err := u.described()
		if err != nil {
			continue
		}
		if f, err := d.functions.at(addr); err == nil {
			return d, f, true
		}
	}
	return nil, nil, false
}

// TailCalls returns the addresses of the jumps by which the function at entry was
// reached from the call that returns to ret, the last jump first: each lies in a
// function that has no frame any more ([Table.Calls] names it). It returns none if
// the function was called directly, and none if there can have been other ways: a
// jump whose target is not known, a function without a full list of its calls, more
// than one path. find returns the addresses of functions by the linker's name.
//
// Source: DWARF 5, section 3.4; a rule stricter than GDB's, which shows what all
// paths have in common.
func (t *Table) TailCalls(ret, entry uint64, find func(name string) []uint64) []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	caller, ok := t.sitesAt(ret - 1)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(caller.sites, func(s callSite) bool { return s.ret == ret && !s.tail })
	if i < 0 || t.isOf(caller.u, &caller.sites[i], entry) {
		return nil
	}
	first, ok := t.target(caller.u, &caller.sites[i], find)
	if !ok || first == entry {
		return nil
	}
	s := search{t: t, entry: entry, find: find}
	if !s.from(first) || len(s.found) != 1 {
		return nil
	}
	return s.found[0]
}

// isOf says whether a call is of the function at entry by its name, as nearly all calls are:
// to find where a function begins takes longer.
func (t *Table) isOf(u *unit, site *callSite, entry uint64) bool {
	if site.indirect {
		return false
	}
	in, off, err := u.follow(site.target)
	if err != nil {
		return false
	}
	callee, f, ok := t.functionAt(entry)
	return ok && in.namesOf(off) == callee.namesOf(f.off)
}

// search looks for paths of tail calls.
type search struct {
	t       *Table
	entry   uint64
	find    func(string) []uint64
	visited int
	path    []uint64 // the functions on the way
	jumps   []uint64
	found   [][]uint64
}

// from follows the tail calls of the function that begins at addr. false means that
// what they lead to is not known for certain.
func (s *search) from(addr uint64) bool {
	if len(s.path) == maxTailCalls || slices.Contains(s.path, addr) { // a cycle is any number of paths
		return false
	}
	calls, ok := s.t.sitesAt(addr)
	if !ok || !calls.complete {
		return false
	}
	s.path = append(s.path, addr)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	for i := range calls.sites {
		if site := &calls.sites[i]; site.tail && !s.over(calls.u, site) {
			return false
		}
	}
	return true
}

// over follows one tail call.
func (s *search) over(u *unit, site *callSite) bool {
	if s.visited++; s.visited > maxPaths {
		return false
	}
	to, ok := s.t.target(u, site, s.find)
	if !ok {
		return false
	}
	s.jumps = append(s.jumps, site.at)
	defer func() { s.jumps = s.jumps[:len(s.jumps)-1] }()
	if to != s.entry {
		return s.from(to)
	}
	path := slices.Clone(s.jumps)
	slices.Reverse(path)
	s.found = append(s.found, path)
	return true
}

// sitesAt returns the calls of the function with an address.
func (t *Table) sitesAt(addr uint64) (callSites, bool) {
	u, f, ok := t.functionAt(addr)
	if !ok {
		return callSites{}, false
	}
	sites := callSites{u: u}
	if err := sites.read(f.off); err != nil {
		t.problem(u, err)
		return sites, false
	}
	return sites, true
}

// read reads the calls of the function at off.
func (s *callSites) read(off uint64) error {
	var e entry
	return s.u.walk(off, func(c *cursor, at uint64, a *abbrev, depth int) (into bool, err error) {
		switch {
		case depth == 0:
			c.readEntry(at, a, s.u.sizes, &e)
			s.complete = e.attrs[atAllCalls].n != 0
		case a.tag == dwarf.TagSubprogram:
			return false, nil // another function
		case a.tag == dwarf.TagCallSite || a.tag == tagGNUCallSite:
			c.readEntry(at, a, s.u.sizes, &e)
			err = s.add(&e)
		}
		return true, err
	})
}

// add adds the call that an entry describes. Before DWARF 5 the return address is
// low_pc, and the target abstract_origin.
func (s *callSites) add(e *entry) (err error) {
	ret, target := e.attrs[atCallReturnPC], e.attrs[atCallOrigin]
	if e.tag == tagGNUCallSite {
		ret, target = e.attrs[atLowPC], e.attrs[atOrigin]
	}
	site := callSite{target: target, indirect: target.absent(), tail: e.attrs[atCallTailCall].n != 0}
	if !ret.absent() {
		if site.ret, err = s.u.addressOf(ret); err != nil {
			return err
		}
		site.at = site.ret - 1
	}
	if pc := e.attrs[atCallPC]; !pc.absent() {
		site.at, err = s.u.addressOf(pc)
	}
	s.sites = append(s.sites, site)
	return err
}

// target returns where the function begins that a call leads to.
func (t *Table) target(u *unit, s *callSite, find func(string) []uint64) (uint64, bool) {
	if s.indirect {
		return 0, false
	}
	in, off, err := u.follow(s.target)
	if err != nil {
		t.problem(u, err)
		return 0, false
	}
	if at, ok := in.functions.begin(off); ok {
		return at, true
	}
	names := in.namesOf(off)
	name := names.linkage
	if name == "" {
		name = names.name
	}
	if name == "" || find == nil {
		return 0, false
	}
	all := find(name)
	if len(all) != 1 {
		return 0, false
	}
	return all[0], true
}

// begin returns where the function at an entry begins: it, or the one function of
// its unit that is an instance of it.
func (f *functions) begin(off uint64) (addr uint64, ok bool) {
	all, err := f.read()
	if err != nil || len(all.all) > maxInstances {
		return 0, false
	}
	for i := range all.all {
		e, _, err := f.u.entryAt(all.all[i].of)
		if err != nil {
			return 0, false
		}
		if e.off != off && !isInstance(f.u, &e, off) {
			continue
		}
		at, known := beginOf(f.u, &e)
		if !known || ok && at != addr {
			return 0, false
		}
		addr, ok = at, true
	}
	return addr, ok
}

// isInstance says whether a function has the one at origin as its abstract origin.
func isInstance(u *unit, e *entry, origin uint64) bool {
	if e.attrs[atOrigin].absent() {
		return false
	}
	to, at, err := u.follow(e.attrs[atOrigin])
	return err == nil && to == u && at == origin
}

// beginOf returns the address of a function's first instruction: low_pc, else the start
// of its first range, which is the function's part that is not moved away (.cold).
func beginOf(u *unit, e *entry) (addr uint64, ok bool) {
	if low := e.attrs[atLowPC]; low.isAddress() {
		addr, err := u.addressOf(low)
		return addr, err == nil
	}
	before := u.t.rangesRead
	defer func() { u.t.rangesRead = before }() // this is asked for again and again
	err := u.ranges(e, func(low, _ uint64) {
		if !ok {
			addr, ok = low, true
		}
	})
	return addr, ok && err == nil
}
