// Package faults tests that clew survives when a process dies, hangs or is told to
// end at the worst moment: a plugin, clew itself, or the reader of its output. The
// tests run the real command on a live program and kill at times that a seeded
// generator chooses, so that a failure can be repeated by its seed
// (CLEW_FAULT_SEED), as far as timing allows.
//
// What must hold:
//
//   - a stack is printed, whatever happens to a plugin, and no frame of it is wrong;
//   - one second after clew has ended, in whatever way, it has left nothing behind: no
//     plugin, no guard, no socket, no folder; a program that it launched is
//     gone; a program that it attached to runs, and its code is as its file has
//     it.
package faults
