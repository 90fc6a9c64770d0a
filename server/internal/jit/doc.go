// Package jit reads what code generators leave for debuggers and profilers: perf
// maps (Linux, tools/perf/Documentation/jit-interface.txt), jitdump
// (jitdump-specification.txt there), and the list of ELF files in memory that
// GDB's JIT interface keeps (GDB's manual, "JIT Compilation Interface").
//
// The decoders know nothing of processes: they read bytes, or memory through an
// [io.ReaderAt]. Everything may have been left by another process, cut off, or
// written to meanwhile. All that is read is bounded, and an error comes with what was good.
package jit
