package delve

import "slices"

// depths finds how many types are read in one another at most, whichever is read first: those that consist of each other count
// all together, and then what they consist of besides. It is Tarjan's search for strongly connected components, without
// recursion.
type depths struct {
	*typeCheck
	order, low []int32
	depth      []int32 // of types that are done, 0 for others
	open       []int32 // those that are not
	visits     []visit
	count      int32
}

// visit is how many parts of a type have been looked at.
type visit struct{ at, parts int32 }

// deepest is the most of all types.
func (c *typeCheck) deepest() int {
	n := len(c.nodes)
	d := depths{typeCheck: c, order: make([]int32, n), low: make([]int32, n), depth: make([]int32, n)}
	for root := range int32(n) {
		if d.depth[root] > 0 {
			continue
		}
		d.enter(root)
		for len(d.visits) > 0 {
			v := &d.visits[len(d.visits)-1]
			parts := c.of(v.at)
			if int(v.parts) == len(parts) {
				d.leave(v.at)
				continue
			}
			to := parts[v.parts]
			v.parts++
			switch {
			case to == elsewhere || d.depth[to] > 0:
			case d.order[to] == 0:
				d.enter(to)
			default:
				d.low[v.at] = min(d.low[v.at], d.order[to])
			}
		}
	}
	if n == 0 {
		return 0
	}
	return int(slices.Max(d.depth))
}

func (d *depths) enter(at int32) {
	d.count++
	d.order[at], d.low[at] = d.count, d.count
	d.open = append(d.open, at)
	d.visits = append(d.visits, visit{at: at})
}

// leave ends the visit of a type. If it was the first of those that consist of each other, these are done.
func (d *depths) leave(at int32) {
	d.visits = d.visits[:len(d.visits)-1]
	if n := len(d.visits); n > 0 {
		around := d.visits[n-1].at
		d.low[around] = min(d.low[around], d.low[at])
	}
	if d.low[at] < d.order[at] {
		return
	}
	first := len(d.open) - 1
	for d.open[first] != at {
		first--
	}
	together, below := d.open[first:], int32(0)
	for _, one := range together {
		for _, part := range d.of(one) {
			if part != elsewhere {
				below = max(below, d.depth[part])
			}
		}
	}
	for _, one := range together {
		d.depth[one] = int32(len(together)) + below
	}
	d.open = d.open[:first]
}
