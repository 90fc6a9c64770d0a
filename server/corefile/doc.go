// Package corefile reads what an ELF core file says of a process's address
// space: its mappings, with the files behind them, and the memory that was
// written out. Registers and threads are Delve's business.
//
// The kernel writes a program header PT_LOAD for every mapping, with as much of
// the memory as /proc/PID/coredump_filter asks for (core(5)): as a rule not the
// code, which is in files. The note NT_FILE names the files. Both together are
// the text that /proc/PID/maps had.
package corefile
