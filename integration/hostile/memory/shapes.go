package memory

import (
	"fmt"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/unwind"
)

// shape is a stack that no program has.
type shape struct {
	name   string
	memory unwind.Memory
	thread unwind.Thread
}

// shapes makes them of a target.
func (t *target) shapes() (out []shape) {
	add := func(name string, m unwind.Memory, change func(*unwind.Registers)) {
		th := t.thread
		if change != nil {
			change(&th.Registers)
		}
		out = append(out, shape{name, m, th})
	}
	words := func(value func(at, was uint64) uint64) unwind.Memory {
		o := &overlay{base: t.memory, words: make(map[uint64]uint64)}
		for _, r := range t.live {
			for at := r.Start; at < r.End; at += 8 {
				was, _ := unwind.ReadWord(t.memory, at, 8, unwind.AMD64.ByteOrder())
				o.words[at] = value(at, was)
			}
		}
		return o
	}
	onStack := func(v uint64) bool {
		for _, r := range t.live {
			if v >= r.Start && v < r.End {
				return true
			}
		}
		return false
	}
	add("frame pointers that point to themselves", words(func(at, was uint64) uint64 {
		if onStack(was) {
			return at
		}
		return was
	}), nil)
	add("frame pointers in circles of two", words(func(at, was uint64) uint64 {
		if onStack(was) {
			return at ^ 16
		}
		return was
	}), nil)
	add("frame pointers that lead downwards", words(func(at, was uint64) uint64 {
		if onStack(was) {
			return at - 64
		}
		return was
	}), nil)
	for name, v := range map[string]uint64{"zero": 0, "one bits": ^uint64(0), "one return address": t.returns[1], "its own place": 1} {
		add("every word "+name, words(func(at, _ uint64) uint64 {
			if v == 1 {
				return at
			}
			return v
		}), nil)
	}
	for _, r := range t.live {
		for page := r.Start &^ (pageSize - 1); page < r.End; page += pageSize {
			add(fmt.Sprintf("no page at %#x", page), &overlay{base: t.memory, missing: []unwind.Range{{Start: page, End: page + pageSize}}}, nil)
		}
		middle := (r.Start + r.End) / 2 &^ 7
		add(fmt.Sprintf("nothing from %#x on", middle), &overlay{base: t.memory, missing: []unwind.Range{{Start: middle, End: r.End + pageSize}}}, nil)
	}
	add("no stack", &overlay{base: t.memory, missing: t.live}, nil)
	set := func(reg unwind.Register, v uint64) func(*unwind.Registers) {
		return func(r *unwind.Registers) { r.Set(reg, v) }
	}
	sp := t.truth[0].SP
	for _, seg := range t.thread.Segments {
		add(fmt.Sprintf("SP in the guard page of the %s stack", seg.Kind), t.memory, set(unwind.AMD64RSP, seg.Low-8))
		add(fmt.Sprintf("SP at the low end of the %s stack", seg.Kind), t.memory, set(unwind.AMD64RSP, seg.Low))
		add(fmt.Sprintf("SP at the high end of the %s stack", seg.Kind), t.memory, set(unwind.AMD64RSP, seg.High))
	}
	for name, v := range map[string]uint64{"0": 0, "at the top of memory": ^uint64(7), "odd": sp + 1, "in code": t.returns[1], "not canonical": 1 << 60} {
		add("SP "+name, t.memory, set(unwind.AMD64RSP, v))
		add("FP "+name, t.memory, set(unwind.AMD64RBP, v))
		if name != "in code" { // which only says that the program is elsewhere
			add("PC "+name, t.memory, set(unwind.AMD64RIP, v))
		}
	}
	add("FP is SP", t.memory, set(unwind.AMD64RBP, sp))
	return out
}

// walked is what became of a shape.
type walked struct {
	shape
	stack   unwind.Stack
	wrong   int // frames of the true stack that come where they do not belong, and others
	problem string
}

// walk assembles a shape's stack and checks what must hold of every stack.
func (t *target) walk(s shape) walked {
	w := walked{shape: s, stack: t.stack(s.memory, s.thread)}
	next := 1
	most := 2
	for _, seg := range t.thread.Segments {
		most += int((seg.High - seg.Low) / 8)
	}
	if len(w.stack.Frames) > most {
		w.problem = fmt.Sprintf("%d frames, where the stacks have %d words", len(w.stack.Frames), most)
	}
	reached := make(map[int]uint64) // the highest SP by stack
	for i := range w.stack.Frames {
		f := &w.stack.Frames[i]
		sp := inprocess.FrameOf(f).SP
		if i > 0 && f.Segment >= 0 && sp <= reached[f.Segment] && f.PC.Kind() == unwind.KindReturn {
			w.problem = fmt.Sprintf("frame %d has SP %#x, which is not above %#x", i, sp, reached[f.Segment])
		}
		reached[f.Segment] = sp
		switch {
		case i == 0:
		case next < len(t.truth) && t.truth[next] == inprocess.FrameOf(f):
			next++
		case f.Trust > unwind.TrustScan:
			w.wrong++
		}
	}
	if w.stack.Stop == unwind.Truncated && w.stack.Reason == "" {
		w.problem = "truncated without a reason"
	}
	if w.stack.Stop == unwind.End && next != len(t.truth) {
		w.problem = fmt.Sprintf("claims to be complete with %d of %d true frames: %s", next, len(t.truth), w.stack.Reason)
	}
	return w
}
