package dwarfline

import (
	"fmt"
	"path"
	"slices"
)

// maxAddrs bounds the rows that are found for one line.
const maxAddrs = 1 << 16

var errManyAddrs = fmt.Errorf("left out: more than %d rows of one line", maxAddrs)

// LineAddr is where code of a source line begins.
type LineAddr struct {
	Addr uint64
	File string
}

// Line returns the rows that are statements of a line, in the files whose path named takes and whose last
// element is base: of the line itself, or if it has none of the next that has some. found is sorted by address. A line that has
// code and no statement of its own, as optimized code may begin with another line's at the same address, has its other rows.
func (t *Table) Line(base string, named func(path string) bool, line int) (at int, found []LineAddr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := lineSearch{named: named, base: base, line: uint32(line)}
	for u := range t.eachLineTable {
		if err := l.read(u); err != nil {
			t.problem(u, err)
		}
	}
	if l.more {
		t.problem(nil, errManyAddrs)
	}
	if l.best != l.line && len(l.others) > 0 {
		l.best, l.found = l.line, l.others
	}
	slices.SortFunc(l.found, func(a, b LineAddr) int { return compareRows(row{addr: a.Addr}, row{addr: b.Addr}) })
	return int(l.best), slices.Compact(l.found)
}

// Files yields the paths of the source files in the line tables; some more than once.
func (t *Table) Files(yield func(path string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.eachLineTable {
		lines, _, _, err := u.openLines()
		if err != nil {
			t.problem(u, err)
			continue
		}
		for i := range lines.files {
			if path := lines.path(&lines.files[i]); path != "" && !yield(path) {
				return
			}
		}
	}
}

// eachLineTable yields for each line table of code that is not Go's a unit that has it, which is not kept.
func (t *Table) eachLineTable(yield func(u *unit) bool) {
	seen := make(map[uint64]bool)
	for _, h := range t.readHeads() {
		if !h.hasLines || seen[h.lines] {
			continue
		}
		seen[h.lines] = true
		if !yield(h.unit(t)) {
			return
		}
	}
}

// lineSearch looks for rows of a line.
type lineSearch struct {
	named func(path string) bool
	base  string
	line  uint32

	best  uint32 // the line that was found, 0 for none
	found []LineAddr
	more  bool

	others []LineAddr // rows of the line that are no statements
}

// read looks into the line table of a unit.
func (l *lineSearch) read(u *unit) error {
	t, m, c, err := u.openLines()
	if err != nil {
		return err
	}
	files := make(map[uint32]string)
	for i := range t.files {
		at := uint64(i)
		if t.version < 5 {
			at++
		}
		name, err := t.text(t.files[i].name)
		if err != nil || path.Base(name) != l.base {
			continue
		}
		if full := t.path(&t.files[i]); l.named(full) {
			files[uint32(at)] = full
		}
	}
	if len(files) == 0 {
		return nil
	}
	t.each = func(rows []row, _ uint64) {
		for i := range rows {
			file, ok := files[rows[i].file]
			switch {
			case !ok:
			case rows[i].flags&isStatement != 0:
				l.add(&rows[i], file)
			case rows[i].line == l.line && l.line > 0 && len(l.others) < maxAddrs:
				l.others = append(l.others, LineAddr{rows[i].addr, file})
			}
		}
	}
	m.run(c, t)
	return c.err
}

// add adds a row, unless a line that is nearer has some.
func (l *lineSearch) add(r *row, file string) {
	if r.line < l.line || r.line == 0 || l.best != 0 && r.line > l.best {
		return
	}
	if r.line != l.best {
		l.best, l.found = r.line, l.found[:0]
	}
	if l.more = l.more || len(l.found) == maxAddrs; !l.more {
		l.found = append(l.found, LineAddr{r.addr, file})
	}
}
