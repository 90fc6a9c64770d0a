// Package glance reads a running process in one short stop, without a debugger.
//
// Everything that does not change while the process runs is read before it: its
// images, where Go's runtime has its lists, and how its structures look. Then all
// threads are stopped (PTRACE_SEIZE, PTRACE_INTERRUPT), their registers, the
// structures of goroutines and the used parts of stacks are copied in bulk
// (process_vm_readv), and the threads go on. Stacks are unwound from the copy, so
// that the process stands still for the time of the copying alone. A process that
// was stopped before stays stopped. [Program.MaxPause] bounds the stop: threads that do not
// stop are left behind, copies end in time, and a read that does not come back is given up.
//
// No DWARF is needed: the layout of the runtime's structures comes from their type
// descriptors, compared with the runtime's own instructions, and its variables from
// symbols or from instructions. What cannot be proven is an error, and a client
// then takes a debugger.
//
// # Parts
//
//   - program.go: the process as a source of stacks ([Program])
//   - stop.go: a stop, which ends in time whatever the process does, and what was left out
//   - copier.go: what is copied while the process stands still, in what order
//   - memory.go: the copies, and what never changes
//   - trace_linux.go, ranges_linux.go, clock_linux.go: the system calls
package glance
