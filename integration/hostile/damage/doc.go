// Package damage measures what becomes of stacks when one offset in a table is wrong:
//
//	go run ./integration/hostile damage [-trials N] [-seed N] [-table SECTION] [-v]
//
// Programs that have recorded their own stacks stand still. For each trial one field of
// the tables of an image that the stack goes through is overwritten: an offset, a
// register or a distance in an FDE, an offset in an SFrame row, a size or a
// place of registers in a compact encoding. A third of the offsets are those that lead to
// a frame further out, where everything looks right. Fields that no frame of the stack
// rests on are left out.
//
// The exit status is 1 if a stack claims to be complete and is not.
package damage
