package macho

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/plugins/compactunwind"
	"github.com/clewdbg/clew/unwind"
)

// pacMask has the bits that qemu signs return addresses in.
const pacMask = 0x7f << 48

// tracer steps through one program.
type tracer struct {
	steptest.Shadow
	t         testing.TB
	arch      unwind.Arch
	stack     []byte // the program's, as it changes
	libraries [2]library
	unwinder  unwind.Unwinder

	regs   singlestep.Registers
	calls  []uint64 // return addresses of all activations that there were
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
	tr := &tracer{t: t, names: map[uint64]string{}, unwinder: compactunwind.New()}
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
	machine := steptest.AMD64()
	if tr.arch == unwind.ARM64 {
		machine = steptest.ARM64(binary.LittleEndian)
	}
	tr.Shadow = steptest.Shadow{T: t, Machine: machine, From: tr.symbol("_begin"), Until: tr.symbol("_theEnd"), Visit: tr.visit, Entered: tr.entered, Left: tr.left}
	tr.Program, tr.stack = launch(t, p)
	return tr
}

// pc is the program counter.
func (tr *tracer) pc() uint64 { return tr.regs[tr.arch.PC()] }

// run steps from the call of begin to where the program says that there is no
// way back.
func (tr *tracer) run() {
	tr.bottom = tr.where(tr.symbol("_bottom"))
	tr.Run()
	tr.checkNotes()
}

func (tr *tracer) visit(_ uint64, regs *singlestep.Registers) {
	tr.regs = *regs
	if tr.watch != nil {
		tr.watch()
	} else {
		tr.compare()
	}
}

func (tr *tracer) entered(a *steptest.Activation) {
	tr.calls = append(tr.calls, a.RA)
	tr.deepest = max(tr.deepest, len(tr.Stack))
}

// piece says that it is no function but a piece of some, which the compiler has
// made a function of (-Oz): it may change what functions must keep.
func (tr *tracer) piece(a *steptest.Activation) bool {
	return strings.HasPrefix(tr.where(a.Saved[tr.arch.PC()]), "_OUTLINED_FUNCTION")
}

// left checks that the function that has returned kept the callee-saved registers.
func (tr *tracer) left(a *steptest.Activation, regs *singlestep.Registers) {
	for _, r := range tr.arch.CalleeSaved() {
		if regs[r] != a.Saved[r] && !tr.piece(a) {
			tr.t.Fatalf("the shadow stack is lost: a return to %#x changes %s; %#x", a.RA, tr.arch.RegisterName(r), a.CFA)
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

// checkNotes compares the return addresses that the program noted with the
// calls that were seen.
func (tr *tracer) checkNotes() {
	count, notes := tr.Word(tr.symbol("_noted")), tr.symbol("_notes")
	calls := tr.calls
	for i := range count {
		note := tr.Word(notes + 8*i)
		at := slices.Index(calls, note)
		if at < 0 {
			tr.t.Fatalf("the program noted that it returns to %s, which no call says", tr.where(note))
		}
		calls = calls[at+1:]
	}
	tr.notes = int(count)
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
