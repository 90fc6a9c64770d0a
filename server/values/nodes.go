package values

import (
	"debug/dwarf"
	"errors"

	"github.com/clewdbg/clew/server/values/types"
)

// align rounds an offset up to a type's alignment: that of its largest number.
func align(off int64, t *types.Type) int64 {
	budget := maxMeasured
	a := alignment(t, &budget)
	return (off + a - 1) / a * a
}

// maxMeasured bounds the types that an alignment follows from.
const maxMeasured = 1 << 12

func alignment(t *types.Type, budget *int) int64 {
	u, err := t.Under()
	if *budget--; err != nil || *budget < 0 {
		return 8
	}
	if e := u.Entry(); e != nil {
		if n, ok := e.Constant(dwarf.AttrAlignment); ok && n.Int() > 0 && n.Int() <= 1<<16 {
			return n.Int()
		}
	}
	switch u.Kind {
	case types.Base:
		if u.Encoding == types.EncodingComplex {
			return max(u.Size/2, 1)
		}
		return max(min(u.Size, 16), 1)
	case types.Array:
		if e, err := u.Element(); err == nil {
			return alignment(e, budget)
		}
	case types.Struct, types.Union:
		most := int64(1)
		members, _, err := u.Members()
		if err != nil {
			return 8
		}
		for i := range members {
			if members[i].Static == nil && members[i].Type != nil {
				most = max(most, alignment(members[i].Type, budget))
			}
		}
		return most
	}
	if n, err := u.Bytes(); err == nil && n > 0 && n <= 16 && n&(n-1) == 0 {
		return n
	}
	return 8
}

// end is how many bytes a structure has without those that fill it up: a class that derives from it may use those.
func end(t *types.Type, deeper int) (int64, error) {
	u, err := t.Under()
	if err != nil {
		return 0, err
	}
	if u.Kind != types.Struct || deeper == 0 {
		return u.Bytes()
	}
	members, _, err := u.Members()
	if err != nil {
		return 0, err
	}
	most := int64(0)
	for i := range members {
		if m := &members[i]; m.Static == nil && m.Type != nil {
			n, err := end(m.Type, deeper-1)
			if err != nil {
				return 0, err
			}
			most = max(most, m.Offset+n)
		}
	}
	return most, nil
}

// nodes returns a value in memory that stands for the nodes: the first, whose address is 0 where there is none.
func (c *container) nodes(text string) (node *types.Type, at uint64, err error) {
	p, err := c.eval(text, c.value, 0)
	if err != nil {
		return nil, 0, err
	}
	p = plain(p)
	u, err := p.under()
	if err != nil {
		return nil, 0, err
	}
	if u.Kind != types.Pointer {
		return nil, 0, errGarbage
	}
	to, err := u.Target()
	if err != nil {
		return nil, 0, err
	}
	if node, err = to.Under(); err != nil {
		return nil, 0, err
	}
	if c.by.Item == "" {
		n, err := end(node, maxDepth)
		if err != nil {
			return nil, 0, err
		}
		c.behind = align(n, c.of)
	}
	at, err = p.word()
	return node, at, err
}

// list follows nodes.
func (c *container) list() error {
	f := c.value.frame
	claimed, last := int64(-1), uint64(0)
	var err error
	if c.by.Count != "" {
		if claimed, err = c.counted(c.by.Count); err != nil {
			return err
		}
	}
	node, at, err := c.nodes(c.by.Head)
	if err != nil && claimed != 0 {
		return err
	}
	if c.by.End != "" {
		if last, err = c.word(c.by.End, c.value, 0); err != nil {
			return err
		}
	}
	seen := make(map[uint64]bool)
	for at != last && at != 0 && len(c.places) < maxNodes {
		if seen[at] {
			c.err = errors.New("its nodes lead back to an earlier one")
			break
		}
		seen[at] = true
		in := f.inMemory("", at, node)
		c.places = append(c.places, place{in: in})
		next, err := c.word(c.by.Next, in, 0)
		if err != nil {
			c.err = err
			break
		}
		at = next
	}
	c.count = int64(len(c.places))
	if c.err == nil && (claimed >= 0 && claimed != c.count && c.count < maxNodes || at == 0 && last != 0) {
		return errGarbage
	}
	if c.err != nil && c.count <= 1 {
		return errGarbage
	}
	c.count = max(c.count, claimed)
	return nil
}

// tree follows the nodes of a tree in their order.
func (c *container) tree() error {
	f := c.value.frame
	node, at, err := c.nodes(c.by.Root)
	if err != nil {
		return err
	}
	if c.count, err = c.counted(c.by.Count); err != nil {
		return err
	}
	var open []*Value
	for (at != 0 || len(open) > 0) && int64(len(c.places)) < min(c.count, maxNodes) {
		for at != 0 {
			if len(open) > 128 { // deeper than a balanced tree can be
				return errGarbage
			}
			in := f.inMemory("", at, node)
			open = append(open, in)
			if at, err = c.word(c.by.Left, in, 0); err != nil {
				return err
			}
		}
		in := open[len(open)-1]
		open = open[:len(open)-1]
		c.places = append(c.places, place{in: in})
		if at, err = c.word(c.by.Right, in, 0); err != nil {
			return err
		}
	}
	if int64(len(c.places)) < min(c.count, maxNodes) || c.count == 0 && at != 0 {
		return errGarbage
	}
	return nil
}

// btree follows the nodes of a B-tree in their order.
func (c *container) btree() (err error) {
	if c.count, err = c.counted(c.by.Count); err != nil || c.count == 0 {
		return err
	}
	node, root, err := c.nodes(c.by.Root)
	if err != nil {
		return err
	}
	height, err := c.word(c.by.Height, c.value, 0)
	if err != nil || height > 32 {
		return errors.Join(err, errGarbage)
	}
	var walk func(at uint64, height uint64) error
	walk = func(at, height uint64) error {
		in := c.value.frame.inMemory("", at, node)
		n, err := c.word(c.by.Entries, in, 0)
		if err != nil || n > 1<<10 {
			return errors.Join(err, errGarbage)
		}
		for i := int64(0); i <= int64(n) && int64(len(c.places)) < min(c.count, maxNodes); i++ {
			if height > 0 {
				child, err := c.word(c.by.Child, in, i)
				if err == nil {
					err = walk(child, height-1)
				}
				if err != nil {
					return err
				}
			}
			if i < int64(n) {
				c.places = append(c.places, place{in, i})
			}
		}
		return nil
	}
	if err = walk(root, height); err == nil && int64(len(c.places)) < min(c.count, maxNodes) {
		err = errGarbage
	}
	return err
}
