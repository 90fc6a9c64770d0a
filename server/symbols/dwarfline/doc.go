// Package dwarfline finds what DWARF says about a code address: the chain of
// functions that are inlined there, the innermost first, each with its names and
// the source place that is being executed or called. The name and the place of a
// call come from the same entries, always.
//
// It reads DWARF 2 to 5, split units (.dwo, .dwp), alternate files as dwz writes
// them, and files that have type units. Sources: DWARF 5 (sections 2.15 and 2.17,
// 3.3, 6.1.2, 6.2, 7), DWARF 4, GCC's DebugFission for split units of version 4.
//
// # Rules
//
//   - A unit is found by .debug_aranges, else by the ranges of its first entry, else
//     by those of its functions. Every unit that claims the address is tried, the
//     one whose range begins last first.
//   - The function is the subprogram with the address. The calls in it are the
//     inlined subroutines with the address; of several the last in the order of
//     entries, which is the deepest.
//   - The innermost place is the last row at or before the address in its
//     sequence, whether it is a statement or not. Line 0 means that no line is
//     known: the file stays. The place in each outer function is where the next
//     inner one is called: call_file, call_line and call_column.
//   - A line table that contradicts its unit is damaged, and is named: see checkLines.
//   - Names are followed over abstract origins and specifications, in other units
//     and in the alternate file too. A function without a name for the linker gets the
//     scopes that it is declared in: namespaces, types (also those in type units) and
//     functions. A lambda's type has no name, and is {lambda()}; which of a function's
//     lambdas it is DWARF does not tell.
//   - A function that jumped on has no frame. Its jump is known where the call sites
//     (DWARF 5, section 3.4) leave one way from the call to the function that was
//     reached.
//
// The caller asks for the address of an instruction: for a return address that is
// one less.
//
// # Where to look
//
//	find.go                   the units that an address may belong to
//	sieve.go, spans.go        the functions and inlined calls of a unit, kept by address
//	chain.go                  those that have the address, with the places of their calls; tailcall.go: without a frame
//	lines.go, machine.go      the innermost place, by the line program
//	names.go, scopes.go       names; refer.go follows references
//	split.go, alternate.go    entries that lie in other files
//
// # Where other tools differ
//
// llvm-symbolizer takes the outermost name from symbols before DWARF's: another of
// several names, or a clone's, and writes no scopes. GDB's innermost line is that of the
// last row that is a statement, or of a row before where there is no line; it leaves out
// functions as scopes, and has one row for a jump, of the innermost function there.
// addr2line of binutils 2.40 loses inlined calls in DWARF 5 of clang. Tests compare with
// the first two and count these apart. In strict DWARF 2, which has no ranges, GCC
// describes the part of a function that is moved away (.cold) by an entry without the
// inlined calls; LLVM takes them from the other part's. Compilers of D put instances of
// templates into the function that uses them: there functions are no scopes.
//
// # Why not debug/dwarf
//
// It decodes all headers and abbreviations first, and one invalid unit makes it
// refuse the whole file. It has neither split units nor alternate files, does not tell
// a reference within a unit from one into another, and allocates for every
// entry. Some corrupt input makes it panic, allocate without a limit (counts of
// files in a line table) or loop. Here a section is decompressed as far as it is
// needed, a unit is read when an address leads to it, and an invalid unit costs
// that unit only. Constants are debug/dwarf's, and tests compare with it.
//
// # Limits
//
// Everything that a file can claim is bounded: see limits.go. No input makes the
// package panic.
package dwarfline
