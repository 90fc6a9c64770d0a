// Package names makes names of functions readable: [Demangle] undoes what
// compilers did to them, [Short] leaves out what makes them long.
//
// C++ (Itanium ABI) and Rust (legacy and v0) are demangled by Ian Lance Taylor's
// library. D is not: few programs have its code beside Go's, and those with debugging information
// have its names there (server/symbols).
//
// Swift is not: its names come as they are. No library in Go demangles them (go-macho's
// returns them unchanged, swift-demangle needs Swift on the machine), the grammar is
// large and changes with the compiler, and a part of it would be wrong names at times.
package names
