// Package faults has the tests of what happens when a process dies, hangs or is
// told to end at the worst moment: a plugin, clew itself, or who reads its
// output. They run the real command on a live program and kill at moments that
// a seeded generator chooses, so that a failure can be had again by its seed
// (CLEW_FAULT_SEED) as far as timing lets it.
//
// What must hold:
//
//   - a stack comes, whatever becomes of a plugin, and no frame of it is wrong;
//   - when clew ends, in whatever way, a second later nothing of it is left: no
//     plugin, no guard, no socket, no folder; a program that it launched is
//     gone; a program that it attached to runs, and its code is as its file has
//     it.
package faults
