package delve

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// Delve reads a type with all that it consists of by recursion, writes the name of one without a name by recursion through
// its parts, and adds up an array's size at each level anew (pkg/dwarf/godwarf, readType, stringIntl, sizeAlignIntl). A
// stack of Go's ends the process when it overflows. typeGraph is what types consist of: of the unit that is
// being read, and of all units before that refer to types of others.
type typeGraph struct {
	starts, targets bitmap // of entries, and of what they take for one
	nodes           []typeNode
	edges           []typeEdge
	joined, links   int    // how many of them are of units before
	deepest         int    // how many types may be read in one another, of units that are done
	longest         uint32 // name of these
}

// typeNode is a type that consists of others.
type typeNode struct {
	at    uint64
	tag   dwarf.Tag
	named bool   // the first name that it has is not empty
	asked bool   // there was a name
	keyed bool   // a map, channel or slice of Go
	own   uint32 // what it adds to a name, in bytes
}

// call says whether a name of the type is one. The first counts.
func (n *typeNode) call(named bool) {
	if !n.asked {
		n.asked, n.named = true, named
	}
}

// typeEdge leads from a type to a part of it. direct says that it is what the type is derived from, or its first member.
type typeEdge struct {
	to     uint64
	from   int32
	direct bool
}

func newTypeGraph(info []byte) typeGraph {
	n := len(info)/64 + 1
	return typeGraph{starts: make(bitmap, n), targets: make(bitmap, n)}
}

// What is too much. Delve takes up to 1.4 KiB of stack for a type that it reads in another, of which Go allows 512 MiB.
const (
	maxTypes     = 200_000 // that are read in one another
	maxNameDepth = 1000    // of types without a name in one another
	maxName      = 1 << 20 // bytes
	maxEdges     = 1 << 24
	sizesAny     = 1 << 23 // steps for sizes in any file, and sizesPer for each type
	sizesPer     = 100
)

var (
	errDeepTypes = errors.New("types are nested too deep")
	errLongType  = errors.New("the name of a type is too long, or a part of itself")
	errManySizes = errors.New("sizes of types take too long")
)

// Go's own attributes, of maps, channels and slices (cmd/internal/dwarf).
const attrGoKey, attrGoElem = 0x2901, 0x2902

// refers says whether an attribute names a type, or another entry that Delve reads like one.
func refers(attr uint64) bool {
	switch attr {
	case attrType, attrOrigin, attrSpecification, attrGoKey, attrGoElem:
		return true
	}
	return false
}

// consists says whether types with a tag are read with their parts.
func consists(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagPointerType, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagTypedef, dwarf.TagArrayType,
		dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagSubroutineType:
		return true
	}
	return false
}

// enter adds an entry, and returns the type whose part it is or names: itself, or the entry around it.
func (g *typeGraph) enter(at uint64, tag dwarf.Tag, around int32) int32 {
	switch {
	case consists(tag):
		g.nodes = append(g.nodes, typeNode{at: at, tag: tag})
		return int32(len(g.nodes) - 1)
	case tag == dwarf.TagMember || tag == dwarf.TagFormalParameter:
		return around
	}
	return noType
}

const noType = -1

// refer adds that the type, if it is one, has another as its part.
func (g *typeGraph) refer(from int32, attr, to uint64) {
	g.targets.set(to)
	if from == noType || attr == attrOrigin || attr == attrSpecification {
		return
	}
	g.nodes[from].keyed = g.nodes[from].keyed || attr != attrType
	last := len(g.edges) - 1
	again := last >= 0 && g.edges[last].from == from && g.nodes[from].tag != dwarf.TagArrayType // a further member
	g.edges = append(g.edges, typeEdge{to, from, attr == attrType && !again})
}

// grow counts what an entry adds to the name of its type.
func (g *typeGraph) grow(part int32, size uint64) {
	if part != noType {
		n := &g.nodes[part]
		n.own = uint32(min(uint64(n.own)+size, maxName))
	}
}

// checkTargets looks for references into the middle of an entry: Delve would read an unchecked entry there.
func (c *infoCheck) checkTargets() error {
	for i, word := range c.types.targets {
		for word &^= c.types.starts[i]; word != 0; word &= word - 1 {
			at := uint64(64*i + bits.TrailingZeros64(word))
			u := sort.Search(len(c.units), func(i int) bool { return c.units[i].end > at })
			if u < len(c.units) && at >= c.units[u].first {
				return fmt.Errorf(".debug_info at offset %#x: an entry refers to the middle of another", at)
			}
		}
	}
	return nil
}

// leave ends a unit between two offsets: where its types refer to no others, they are checked and forgotten.
func (g *typeGraph) leave(first, end uint64) error {
	if len(g.edges) > maxEdges {
		return errDeepTypes
	}
	for _, e := range g.edges[g.links:] {
		if e.to < first || e.to >= end {
			g.joined, g.links = len(g.nodes), len(g.edges)
			return nil
		}
	}
	err := g.check(newTypeCheck(g.nodes[g.joined:], g.edges[g.links:], g.joined), 0)
	g.nodes, g.edges = g.nodes[:g.joined], g.edges[:g.links]
	return err
}

// finish checks the types that refer to those of other units.
func (g *typeGraph) finish() error {
	c := newTypeCheck(g.nodes, g.edges, 0)
	c.outside = g.longest
	if err := g.check(c, g.deepest); err != nil {
		return fmt.Errorf(".debug_info: %w", err)
	}
	return nil
}

// check checks types, below each of which may be so many of other units.
func (g *typeGraph) check(c *typeCheck, below int) error {
	deep := len(c.nodes) + below
	if deep > maxTypes {
		deep = c.deepest() + below
	}
	if deep > maxTypes {
		return errDeepTypes
	}
	g.deepest = max(g.deepest, deep)
	for i := range c.nodes {
		n, ok := c.name(int32(i), 0)
		if !ok {
			return errLongType
		}
		g.longest = max(g.longest, n)
	}
	return c.sizes()
}

// typeCheck is the check of types.
type typeCheck struct {
	nodes   []typeNode
	first   []int32 // of each type's parts
	parts   []int32 // indices of types; elsewhere: a part that is not among them
	direct  []int32 // for each type, what its size is asked of
	names   []uint32
	outside uint32 // the longest name of other units' types
}

// elsewhere is a type of a unit that is done, or none that consists of others.
const elsewhere = -1

// newTypeCheck is for types, the first of which has a number.
func newTypeCheck(nodes []typeNode, edges []typeEdge, number int) *typeCheck {
	c := &typeCheck{
		nodes: nodes, first: make([]int32, len(nodes)+1), parts: make([]int32, len(edges)),
		direct: make([]int32, len(nodes)), names: make([]uint32, len(nodes)),
	}
	for _, e := range edges {
		c.first[int(e.from)-number+1]++
	}
	for i := range nodes {
		c.first[i+1] += c.first[i]
		c.direct[i] = elsewhere
	}
	next := make([]int32, len(nodes))
	for _, e := range edges {
		from := int(e.from) - number
		to := int32(sort.Search(len(nodes), func(i int) bool { return nodes[i].at >= e.to }))
		if int(to) == len(nodes) || nodes[to].at != e.to {
			to = elsewhere
		}
		c.parts[c.first[from]+next[from]] = to
		next[from]++
		if e.direct && nodes[from].tag != dwarf.TagPointerType && nodes[from].tag != dwarf.TagSubroutineType {
			c.direct[from] = to
		}
	}
	return c
}

func (c *typeCheck) of(i int32) []int32 { return c.parts[c.first[i]:c.first[i+1]] }

// inName says that the name is being written.
const inName = math.MaxUint32

// name is how long the name of a type becomes, in bytes, at least 1. ok is false where that is too much, or has no end.
func (c *typeCheck) name(i int32, depth int) (n uint32, ok bool) {
	if i == elsewhere {
		return c.outside + 1, true
	}
	if n = c.names[i]; n == inName || depth > maxNameDepth {
		return 0, false
	}
	if n != 0 {
		return n, true
	}
	c.names[i] = inName
	node := &c.nodes[i]
	n = node.own + 1
	if !c.isLeaf(node) {
		for _, part := range c.of(i) {
			more, ok := c.name(part, depth+1)
			if n += more; !ok || n > maxName {
				return 0, false
			}
		}
	}
	c.names[i] = n
	return n, true
}

// isLeaf says that a type is written by its own name only.
func (c *typeCheck) isLeaf(n *typeNode) bool {
	switch n.tag {
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return n.named
	case dwarf.TagTypedef:
		return n.named || !n.keyed
	}
	return false
}

// sizes follows what sizes are asked of, once for each type. A circle ends where it began.
func (c *typeCheck) sizes() error {
	steps, left := make([]int32, len(c.nodes)), sizesAny+sizesPer*len(c.nodes)
	var path []int32
	for i := range c.nodes {
		path = path[:0]
		at := int32(i)
		for at != elsewhere && steps[at] == 0 {
			steps[at] = -int32(len(path)) - 1
			path = append(path, at)
			at = c.direct[at]
		}
		below := int32(0)
		if at != elsewhere {
			below = steps[at]
		}
		if below < 0 { // a circle: all of it has as many steps
			from := -below - 1
			below = int32(len(path)) - from
			for _, n := range path[from:] {
				steps[n] = below
				left -= int(below)
			}
			path = path[:from]
		}
		for k := len(path) - 1; k >= 0; k-- {
			below++
			steps[path[k]] = below
			left -= int(below)
		}
		if left < 0 {
			return errManySizes
		}
	}
	return nil
}
