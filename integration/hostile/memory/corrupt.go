package memory

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/unwind"
)

// valueKind is the kind of value that overwrites a word.
type valueKind int

const (
	zero valueKind = iota
	small
	random
	code       // any address of executable memory
	entry      // of a function
	returnCopy // a true return address of this stack, in another place
	stackAddr  // any word of the live stack
	frameCopy  // the place of a true frame's end
	neighbour  // another word of the live stack, as it is
	valueKinds = iota
	untouched  = valueKind(valueKinds)
)

var valueNames = [...]string{"zero", "small number", "random bits", "address of code", "entry of a function", "another return address",
	"address of the stack", "another frame's address", "another word of the stack", "not overwritten"}

func (k valueKind) String() string { return valueNames[k] }

// value makes one.
func (t *target) value(rng *rand.Rand, k valueKind) uint64 {
	switch k {
	case small:
		return rng.Uint64N(10_000)
	case random:
		return rng.Uint64()
	case code, entry:
		ranges := t.input.Target.Executable
		r := ranges[rng.IntN(len(ranges))]
		at := r.Start + rng.Uint64N(r.End-r.Start)
		if k == entry {
			if fn, ok := t.input.Target.Code.Function(unwind.LookupAddr(at)); ok {
				return fn.Start
			}
		}
		return at
	case returnCopy:
		return t.returns[rng.IntN(len(t.returns))]
	case stackAddr:
		return t.place(rng)
	case frameCopy:
		return t.truth[rng.IntN(len(t.truth))].SP - 16
	case neighbour:
		v, _ := unwind.ReadWord(t.memory, t.place(rng), 8, unwind.AMD64.ByteOrder())
		return v
	}
	return 0
}

// place is the address of any word of the live stack.
func (t *target) place(rng *rand.Rand) uint64 {
	words := uint64(0)
	for _, r := range t.live {
		words += (r.End - r.Start) / 8
	}
	n := rng.Uint64N(words)
	for _, r := range t.live {
		if here := (r.End - r.Start) / 8; n >= here {
			n -= here
			continue
		}
		return r.Start + 8*n
	}
	return 0
}

// damage describes the words of a stack that were overwritten.
type damage struct {
	words map[uint64]uint64
	kinds map[uint64]valueKind
}

// wordCounts are how many words are overwritten in one trial.
var wordCounts = []int{1, 2, 4, 16, 64, 256}

// damage overwrites words with plausible values, or with random bits.
func (t *target) damage(rng *rand.Rand, plausible bool) damage {
	h := damage{words: make(map[uint64]uint64), kinds: make(map[uint64]valueKind)}
	for range wordCounts[rng.IntN(len(wordCounts))] {
		at, k := t.place(rng), random
		if plausible {
			k = valueKind(rng.IntN(valueKinds))
		}
		h.words[at], h.kinds[at] = t.value(rng, k), k
	}
	return h
}

// results counts what became of the trials.
type results struct {
	trials, complete, truncated int
	// falseEnd counts stacks that claimed to be complete, and were not.
	falseEnd int
	frames   [unwind.TrustContext + 1]int
	wrong    [unwind.TrustContext + 1]int
	// above counts trials with a wrong frame that has more trust than a scan.
	above  int
	causes map[string]*example
}

type example struct {
	n     int
	first string
}

// corrupt makes trials on a target.
func (t *target) corrupt(rng *rand.Rand, trials int, plausible bool) *results {
	res := &results{causes: make(map[string]*example)}
	for range trials {
		h := t.damage(rng, plausible)
		stack := t.stack(&overlay{base: t.memory, words: h.words}, t.thread)
		res.judge(t, &h, &stack)
	}
	return res
}

// judge compares a stack with the true one. A frame is right if it is the next
// one of the true stack; one that comes out of order, with callers left out, is
// wrong as one is that does not exist.
func (res *results) judge(t *target, h *damage, stack *unwind.Stack) {
	res.trials++
	next, wrong, high := 0, false, false
	for i := range stack.Frames {
		f := &stack.Frames[i]
		res.frames[f.Trust]++
		at := next
		for at < len(t.truth) && t.truth[at] != inprocess.FrameOf(f) {
			at++
		}
		if at == next {
			next++
			continue
		}
		res.wrong[f.Trust]++
		skipped := at < len(t.truth)
		if skipped {
			next = at + 1
		}
		if !wrong && f.Trust > unwind.TrustScan {
			high = true
			res.because(t, h, stack, i, skipped)
		}
		wrong = true
		high = high || f.Trust > unwind.TrustScan
	}
	switch {
	case stack.Stop == unwind.Truncated:
		res.truncated++
	case wrong || next != len(t.truth):
		res.falseEnd++
	default:
		res.complete++
	}
	if high {
		res.above++
	}
}

// rate is the share of wrong frames among those that may be trusted more than a
// scan's, and how many of them there are.
func (res *results) rate() (share float64, wrong, frames int) {
	for trust := unwind.TrustScan + 1; int(trust) < len(res.frames); trust++ {
		wrong += res.wrong[trust]
		frames += res.frames[trust]
	}
	return float64(wrong) / float64(max(1, frames)), wrong, frames
}

// sorted lists the causes, the most frequent first.
func (res *results) sorted() []string {
	var keys []string
	for k := range res.causes {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return res.causes[keys[i]].n > res.causes[keys[j]].n })
	return keys
}

// because notes the evidence of the first wrong frame.
func (res *results) because(t *target, h *damage, stack *unwind.Stack, i int, skipped bool) {
	f, callee := &stack.Frames[i], &stack.Frames[i-1]
	kind := func(at uint64) valueKind {
		if k, ok := h.kinds[at]; ok {
			return k
		}
		return untouched
	}
	what := "is invented"
	if skipped {
		what = "is true, but callers are left out"
	}
	cause := ""
	if ra := kind(callee.CFA - 8); ra != untouched {
		cause = fmt.Sprintf("return address overwritten (%s)", ra)
	} else {
		cause = "followed a frame pointer, or the like, that was overwritten"
	}
	key := fmt.Sprintf("frame by %s, trust %s, %s: %s", f.Strategy, f.Trust, what, cause)
	e := res.causes[key]
	if e == nil {
		e = &example{first: fmt.Sprintf("%s, called by %s; %s", t.name(callee), t.name(f), callee.Rule)}
		res.causes[key] = e
	}
	e.n++
}

func (t *target) name(f *unwind.Frame) string {
	if t.input != nil {
		if fn, ok := t.input.Target.Code.Function(f.PC.Lookup(unwind.AMD64)); ok && fn.Name != "" {
			return fmt.Sprintf("%s+%#x", fn.Name, f.PC.Raw()-fn.Start)
		}
	}
	return fmt.Sprintf("%#x", f.PC.Raw())
}
