package stop

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// alike finds the stacks of parked goroutines that are the same as one that was
// walked before, but for where they lie: thousands of goroutines wait at the same
// place.
//
// Go's tables say for each return address how far the next one is. So a stack whose
// return addresses are those of another, each at the same distance from SP, and
// which is as far from its stack's top, has the same frames. Nothing is assumed of how
// a stack was found: a walked one is kept only if this way of moving it makes the
// very same stack of the same goroutine. Test: TestAlike.
type alike struct {
	arch   unwind.Arch
	memory unwind.Memory
	kept   map[uint64][]*model // by the first PC
	buf    []byte
}

// model is a stack that was walked, with the words that another must have to be alike.
type model struct {
	stack unwind.Stack
	sp    uint64
	size  uint64 // from SP to the stack's top
	words []word
}

type word struct{ at, value uint64 } // at: distance from SP

// maxModels bounds the stacks that are kept for a first PC: beyond it stacks differ too
// much to gain anything.
const maxModels = 256

func newAlike(v View) *alike {
	t := &v.EngineInput().Target
	return &alike{arch: t.Arch, memory: t.Memory, kept: make(map[uint64][]*model)}
}

// find returns the stack of a goroutine if it is like one that was kept. With share
// set, its frames are the kept one's, and so are their CFAs and registers.
func (a *alike) find(th *reading.Thread, share bool) (unwind.Stack, bool) {
	pc, sp, size, ok := a.parked(th)
	if !ok {
		return unwind.Stack{}, false
	}
	data, ok := a.read(sp, size)
	if !ok {
		return unwind.Stack{}, false
	}
	for _, m := range a.kept[pc] {
		if m.size == size && m.matches(data) {
			return m.moved(a.arch, th, sp, data, share), true
		}
	}
	return unwind.Stack{}, false
}

// keep keeps a stack that was walked, if others can be compared with it.
func (a *alike) keep(th *reading.Thread, s *unwind.Stack) {
	pc, sp, size, ok := a.parked(th)
	if !ok || len(a.kept[pc]) >= maxModels || s.Stop != unwind.End || s.DepthLimited {
		return
	}
	data, ok := a.read(sp, size)
	if !ok {
		return
	}
	words, ok := returnWords(s.Frames, sp, data)
	if !ok {
		return
	}
	m := &model{stack: *s, sp: sp, size: size, words: words}
	if again := m.moved(a.arch, th, sp, data, false); reflect.DeepEqual(again, *s) {
		a.kept[pc] = append(a.kept[pc], m)
	}
}

// returnWords are the return addresses of a stack that lies at sp, whose memory is data; ok is
// false where a frame was not found by Go's tables alone.
func returnWords(frames []unwind.Frame, sp uint64, data []byte) (out []word, ok bool) {
	for i := range frames {
		f := &frames[i]
		if !byGoTables(f) {
			return nil, false
		}
		if at := f.CFA - 8 - sp; i+1 < len(frames) && !f.Inlined && f.CFA > sp+8 && at+8 <= uint64(len(data)) {
			out = append(out, word{at, binary.LittleEndian.Uint64(data[at:])})
		}
	}
	return out, true
}

// parked returns the place of a parked goroutine; ok is false for anything else.
func (a *alike) parked(th *reading.Thread) (pc, sp, size uint64, ok bool) {
	const most = 64 << 10 // of a stack
	if a.arch != unwind.AMD64 || th.ID != 0 || len(th.Segments) != 1 || th.FirstPC != unwind.KindReturn {
		return 0, 0, 0, false
	}
	pc, hasPC := th.Registers.PC(a.arch)
	sp, hasSP := th.Registers.SP(a.arch)
	s := th.Segments[0]
	size = s.High - sp
	return pc, sp, size, hasPC && hasSP && s.Contains(sp) && size <= most
}

func (a *alike) read(sp, size uint64) ([]byte, bool) {
	if uint64(cap(a.buf)) < size {
		a.buf = make([]byte, size)
	}
	a.buf = a.buf[:size]
	return a.buf, a.memory.ReadMemory(sp, a.buf) == nil
}

func (m *model) matches(data []byte) bool {
	return !slices.ContainsFunc(m.words, func(w word) bool { return binary.LittleEndian.Uint64(data[w.at:]) != w.value })
}

// moved returns the stack as that of another goroutine, whose stack from sp on is data.
func (m *model) moved(arch unwind.Arch, th *reading.Thread, sp uint64, data []byte, share bool) unwind.Stack {
	out := m.stack
	out.Goroutine, out.State = th.Goroutine, nil
	if share {
		return out
	}
	out.Frames = make([]unwind.Frame, len(m.stack.Frames))
	copy(out.Frames, m.stack.Frames)
	fp, known := th.Registers.FP(arch)
	for i := range out.Frames {
		f := &out.Frames[i]
		if at, ok := f.Registers.SP(arch); ok {
			f.Registers.Set(arch.SP(), at-m.sp+sp)
		}
		if _, ok := f.Registers.FP(arch); ok && known {
			f.Registers.Set(arch.FP(), fp)
		}
		if f.CFA == 0 {
			continue
		}
		f.CFA = f.CFA - m.sp + sp
		if at := f.CFA - 16 - sp; !f.Inlined && strings.HasSuffix(f.Rule, "; fp=[cfa-16]") && at+8 <= uint64(len(data)) {
			fp = binary.LittleEndian.Uint64(data[at:])
		}
	}
	return out
}
