package table

// The order in which a function without a frame pointer saved its registers is a
// number: its digits, in a mixed base, choose each register from among those
// that are left (a Lehmer code), the lowest address first.

// divisors are the values of the places for each count of registers. With six
// registers the last is the one that is left.
var divisors = [7][]uint32{
	1: {1},
	2: {5, 1},
	3: {20, 4, 1},
	4: {60, 12, 3, 1},
	5: {120, 24, 6, 2, 1},
	6: {120, 24, 6, 2, 1},
}

// maxRegisters is the largest number of registers that a frameless function
// saves.
const maxRegisters = 6

// Permutation decodes the order of count registers (0 to 6): their numbers, 1 to
// 6, the one at the lowest address first. It returns false for an invalid
// number.
func Permutation(count int, number uint32) (order [maxRegisters]int, ok bool) {
	if count < 0 || count > maxRegisters {
		return order, false
	}
	left := [maxRegisters]int{1, 2, 3, 4, 5, 6}
	for i := range count {
		var digit uint32
		if i < len(divisors[count]) {
			digit, number = number/divisors[count][i], number%divisors[count][i]
		}
		if digit >= uint32(maxRegisters-i) {
			return order, false
		}
		order[i] = left[digit]
		copy(left[digit:], left[digit+1:])
	}
	return order, number == 0
}
