package macho

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/plugins/compactunwind"
	"github.com/clewdbg/clew/unwind"
)

// activation is the state when a function was entered.
type activation struct {
	cfa, ra uint64
	saved   []uint64 // as arch.CalleeSaved has them
	// piece says that it is no function but a piece of some, which the compiler has
	// made a function of (-Oz): it may change what functions must keep.
	piece bool
}

// pacMask has the bits that qemu signs return addresses in.
const pacMask = 0x7f << 48

// tracer steps through one program.
type tracer struct {
	t         testing.TB
	arch      unwind.Arch
	machine   singlestep.Program
	stack     []byte
	libraries [2]library
	unwinder  unwind.Unwinder

	regs   singlestep.Registers
	shadow []activation // outermost first
	calls  []uint64     // return addresses of all activations that there were
	kinds  map[uint64]kind
	names  map[uint64]string
	tally  tally
	bottom string // the place of the stop
	// deepest is the largest depth, atBottom that of an exact stack at the stop.
	deepest, atBottom int
	notes             int // return addresses that the program itself has noted
	// watch is called at every instruction instead of compare.
	watch func()
}

func newTracer(t testing.TB, p *program) *tracer {
	tr := &tracer{t: t, kinds: map[uint64]kind{}, names: map[uint64]string{}, unwinder: compactunwind.New()}
	var images []unwind.Image
	for i, path := range p.libraries {
		tr.libraries[i] = openLibrary(t, path, unwind.ImageID(i+1), base(i))
		images = append(images, tr.libraries[i].image)
	}
	tr.arch = tr.libraries[0].arch
	reports, err := tr.unwinder.Update(t.Context(), unwind.ImageDelta{Arch: tr.arch, OS: "darwin", Added: images, PACMask: pacMask})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.Problem != "" || len(r.Coverage) == 0 {
			t.Fatalf("image %d: %+v", r.ID, r)
		}
	}
	tr.machine, tr.stack = launch(t, p)
	return tr
}

// pc is the program counter.
func (tr *tracer) pc() uint64 { return tr.regs[tr.arch.PC()] }

// run steps from the call of begin to where the program says that there is no
// way back.
func (tr *tracer) run() {
	begin, end := tr.symbol("_begin"), tr.symbol("_theEnd")
	tr.bottom = tr.where(tr.symbol("_bottom"))
	kind := otherKind
	for entered := false; ; {
		var err error
		if tr.regs, err = tr.machine.Registers(); err != nil {
			tr.t.Fatal(err)
		}
		pc := tr.pc()
		switch {
		case !entered && pc == begin, entered && kind == callKind:
			entered = true
			tr.enter()
		case kind == returnKind:
			tr.leave()
		}
		if entered {
			if tr.watch != nil {
				tr.watch()
			} else {
				tr.compare()
			}
			kind = tr.kind(pc)
		}
		if pc == end {
			tr.checkNotes()
			return
		}
		r, err := tr.machine.Step()
		if err != nil || r.Ended || r.Signal {
			tr.t.Fatalf("at %s: %+v, %v", tr.where(pc), r, err)
		}
	}
}

func (tr *tracer) symbol(name string) uint64 {
	addr, ok := tr.libraries[0].symbols[name]
	if !ok {
		tr.t.Fatalf("no symbol %s", name)
	}
	return addr
}

// kind decodes the instruction at an address.
func (tr *tracer) kind(pc uint64) kind {
	if k, ok := tr.kinds[pc]; ok {
		return k
	}
	var code [16]byte
	n := tr.machine.Read(pc, code[:])
	if n == 0 {
		tr.t.Fatalf("no code at %#x", pc)
	}
	decode := kindX86
	if tr.arch == unwind.ARM64 {
		decode = kindARM64
	}
	k := decode(code[:n])
	tr.kinds[pc] = k
	return k
}

func (tr *tracer) saved() []uint64 {
	var out []uint64
	for _, r := range tr.arch.CalleeSaved() {
		out = append(out, tr.regs[r])
	}
	return out
}

func (tr *tracer) enter() {
	sp := tr.regs[tr.arch.SP()]
	a := activation{cfa: sp, saved: tr.saved(), piece: strings.HasPrefix(tr.where(tr.pc()), "_OUTLINED_FUNCTION")}
	if tr.arch == unwind.ARM64 {
		a.ra = tr.regs[tr.arch.LR()]
	} else {
		a.cfa, a.ra = sp+8, tr.word(sp)
	}
	tr.shadow, tr.calls = append(tr.shadow, a), append(tr.calls, a.ra)
	tr.deepest = max(tr.deepest, len(tr.shadow))
}

// leave checks that the function that has returned kept the callee-saved registers.
func (tr *tracer) leave() {
	top := tr.shadow[len(tr.shadow)-1]
	if tr.pc() != top.ra || tr.regs[tr.arch.SP()] != top.cfa || !top.piece && !slices.Equal(tr.saved(), top.saved) {
		tr.t.Fatalf("the shadow stack is lost: a return to %#x with SP %#x; %+v", tr.pc(), tr.regs[tr.arch.SP()], top)
	}
	tr.shadow = tr.shadow[:len(tr.shadow)-1]
}

// checkNotes compares the return addresses that the program noted with the
// calls that were seen.
func (tr *tracer) checkNotes() {
	word := func(addr uint64) uint64 {
		var b [8]byte
		if tr.machine.Read(addr, b[:]) != len(b) {
			tr.t.Fatalf("%#x cannot be read", addr)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	count, notes := word(tr.symbol("_noted")), tr.symbol("_notes")
	calls := tr.calls
	for i := range count {
		note := word(notes + 8*i)
		at := slices.Index(calls, note)
		if at < 0 {
			tr.t.Fatalf("the program noted that it returns to %s, which no call says", tr.where(note))
		}
		calls = calls[at+1:]
	}
	tr.notes = int(count)
}

func (tr *tracer) word(addr uint64) uint64 {
	return binary.LittleEndian.Uint64(tr.stack[addr-stackAt:])
}

// where names the code at an address.
func (tr *tracer) where(pc uint64) string {
	name, ok := tr.names[pc]
	if !ok {
		name = tr.findName(pc)
		tr.names[pc] = name
	}
	return name
}

func (tr *tracer) findName(pc uint64) string {
	for i := range tr.libraries {
		if l := &tr.libraries[i]; pc >= l.image.Base && pc-l.image.Base < 1<<30 {
			for _, s := range l.image.Sections {
				if s.Name != "__text" && pc >= s.Addr && pc-s.Addr < uint64(len(s.Data)) {
					return fmt.Sprintf("%s+%#x", s.Name, pc-s.Addr)
				}
			}
			name, start := l.function(pc)
			return fmt.Sprintf("%s+%#x (%#x)", name, pc-start, pc-l.image.Base)
		}
	}
	return fmt.Sprintf("%#x", pc)
}
