package table

import (
	"slices"
	"testing"
)

// lehmer numbers an order of registers as LLVM's encoder does
// (X86AsmBackend.cpp, encodeCompactUnwindRegistersWithoutFrame): for each
// register, how many of those that come later, or are not saved, are lower.
func lehmer(order []int) uint32 {
	values := map[int][]uint32{
		1: {1}, 2: {5, 1}, 3: {20, 4, 1}, 4: {60, 12, 3, 1}, 5: {120, 24, 6, 2, 1}, 6: {120, 24, 6, 2, 1, 0},
	}[len(order)]
	var number uint32
	for i, reg := range order {
		lower := 0
		for r := 1; r < reg; r++ {
			if !slices.Contains(order[:i], r) {
				lower++
			}
		}
		number += uint32(lower) * values[i]
	}
	return number
}

// orders visits every order of count out of the six registers.
func orders(count int, visit func([]int)) {
	var order []int
	var rec func()
	rec = func() {
		if len(order) == count {
			visit(order)
			return
		}
		for r := 1; r <= 6; r++ {
			if !slices.Contains(order, r) {
				order = append(order, r)
				rec()
				order = order[:len(order)-1]
			}
		}
	}
	rec()
}

// TestPermutations: every order of every count is read back, and every number
// is either one order's or refused.
func TestPermutations(t *testing.T) {
	for count := range 7 {
		valid := make(map[uint32]bool)
		orders(count, func(order []int) {
			number := lehmer(order)
			valid[number] = true
			got, ok := Permutation(count, number)
			if !ok || !slices.Equal(got[:count], order) {
				t.Fatalf("%d registers, number %d: %v, %v; want %v", count, number, got[:count], ok, order)
			}
		})
		total := 1
		for i := range count {
			total *= 6 - i
		}
		if count > 0 && len(valid) != total {
			t.Errorf("%d registers: %d numbers for %d orders", count, len(valid), total)
		}
		for number := range uint32(1 << 10) {
			if _, ok := Permutation(count, number); ok != (valid[number] || count == 0 && number == 0) {
				t.Errorf("%d registers, number %d: %v", count, number, ok)
			}
		}
	}
	for _, count := range []int{-1, 7} {
		if _, ok := Permutation(count, 0); ok {
			t.Errorf("%d registers have an order", count)
		}
	}
}
