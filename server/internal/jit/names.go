package jit

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
)

// Symbol is a piece of generated code, from Start up to End, without End.
type Symbol struct {
	Start, End uint64
	Name       string
}

// Names finds symbols by address. Nil has none. It is safe for concurrent use.
type Names struct {
	symbols []Symbol
	pieces  []piece
}

// piece is a range that one symbol is the last to name.
type piece struct {
	start, end uint64
	symbol     int // index
}

// NewNames takes symbols in the order in which they were written: of those that
// overlap the later one counts, as the code there was generated later. (Both files are
// appended to; jit-interface.txt does not say which line counts.) Symbols without an
// address range do not count.
func NewNames(symbols []Symbol) *Names {
	n := &Names{symbols: symbols}
	order := make([]int, 0, len(symbols))
	for i, s := range symbols {
		if s.Start < s.End {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(symbols[a].Start, symbols[b].Start) })
	// A sweep over the addresses; open are the symbols that have begun and may not
	// have ended, the last one written on top.
	var open latest
	for at := uint64(0); len(order) > 0 || len(open) > 0; {
		if len(open) == 0 {
			at = max(at, symbols[order[0]].Start)
		}
		for len(order) > 0 && symbols[order[0]].Start <= at {
			heap.Push(&open, order[0])
			order = order[1:]
		}
		top := open[0]
		if symbols[top].End <= at {
			heap.Pop(&open)
			continue
		}
		end := symbols[top].End
		if len(order) > 0 {
			end = min(end, symbols[order[0]].Start)
		}
		n.add(piece{at, end, top})
		at = end
	}
	return n
}

// add appends a piece, to the one before where it goes on.
func (n *Names) add(p piece) {
	if last := len(n.pieces) - 1; last >= 0 && n.pieces[last].symbol == p.symbol && n.pieces[last].end == p.start {
		n.pieces[last].end = p.end
		return
	}
	n.pieces = append(n.pieces, p)
}

// Find returns the symbol that an address lies in.
func (n *Names) Find(addr uint64) (Symbol, bool) {
	i, ok := n.Index(addr)
	if !ok {
		return Symbol{}, false
	}
	return n.symbols[i], true
}

// Index returns which symbol an address lies in, in the order that they were given in.
func (n *Names) Index(addr uint64) (symbol int, ok bool) {
	if n == nil {
		return 0, false
	}
	p, ok := n.piece(addr)
	return p.symbol, ok
}

// Whole says whether a symbol is the last to name all of its range.
func (n *Names) Whole(symbol int) bool {
	s := n.symbols[symbol]
	p, ok := n.piece(s.Start)
	return ok && p == piece{s.Start, s.End, symbol}
}

func (n *Names) piece(addr uint64) (piece, bool) {
	i := sort.Search(len(n.pieces), func(i int) bool { return n.pieces[i].end > addr })
	if i == len(n.pieces) || addr < n.pieces[i].start {
		return piece{}, false
	}
	return n.pieces[i], true
}

// Len is the number of symbols.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return len(n.symbols)
}

// latest is a heap of indices, the highest first.
type latest []int

func (l latest) Len() int           { return len(l) }
func (l latest) Less(i, j int) bool { return l[i] > l[j] }
func (l latest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// Push implements [heap.Interface].
func (l *latest) Push(x any) { *l = append(*l, x.(int)) }

// Pop implements [heap.Interface].
func (l *latest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}
