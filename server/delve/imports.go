package delve

import (
	"fmt"
	"math"
)

// checkImports looks for units that import each other, or more than Delve ends with.
func (c *infoCheck) checkImports() error {
	costs := map[uint64]uint64{}
	for at, r := range c.roots {
		if len(r.imports) == 0 {
			continue
		}
		cost, ok := c.cost(at, costs, 0)
		if !ok {
			return errBadImport
		}
		c.reads.spend(cost - r.cost)
		if err := c.reads.over(); err != nil {
			return fmt.Errorf(".debug_info: %w", err)
		}
	}
	return nil
}

// maxImports bounds how deep imported units import others.
const maxImports = 100

// cost is how much Delve reads for a unit, in bytes.
func (c *infoCheck) cost(at uint64, costs map[uint64]uint64, depth int) (uint64, bool) {
	if known, ok := costs[at]; ok {
		return known, true
	}
	r, ok := c.roots[at]
	if !ok || depth > maxImports || len(r.imports) > 0 && !r.ended || depth > 0 && r.partial && !r.ended {
		return 0, false
	}
	total := r.cost
	for _, to := range r.imports {
		if target, ok := c.roots[to]; ok && !target.partial {
			continue // Delve does not read it
		}
		cost, ok := c.cost(to, costs, depth+1)
		if total = min(total+cost, math.MaxUint64>>8); !ok {
			return 0, false
		}
	}
	costs[at] = total
	return total, true
}
