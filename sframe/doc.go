// Package sframe decodes SFrame, the simple stack-frame tables that GNU's
// assembler and linker write: from an address to a row of rules, and from a row to a
// [rule.Rule].
//
// It reads every generation in the field: version 1 (binutils 2.40), version 2
// (2.41 to 2.44), version 2 with starts relative to their own field (2.45), and
// version 3 (2.46 and later) with its flexible rules, outermost functions and
// signal frames; for amd64, arm64 in both byte orders and s390x.
//
//	table := sframe.New(section, sframe.Options{Arch: unwind.AMD64})
//	row, answer := table.Lookup(addr)
//	r := row.Rule()
//	err := r.Apply(&frame, &caller)
//
// It knows no processes and no files. To verify a section, make a table of it: [Table.Problems] are
// what it breaks of the specification, and [Table.All] what is left to use.
//
// An encoder would need, besides the tables that this package reads: of each function the rules in order, which
// the row's kind of start (1, 2 or 4 bytes) and the widths of its offsets follow from; the functions sorted by
// their starts, which are relative to the field (version 2 errata 1 and 3) and so depend on where the linker
// places the section; and for what a row cannot say, such as a CFA that is read from memory before version 3, that the function be
// left out. Nothing here writes tables: assemblers do.
//
// # Answers
//
// An [Answer] is the table's exact knowledge of an address: a rule; a rule that
// holds in a frame that has called no one, since it rests on a register that
// calls overwrite; that the frame is the outermost one; that it is a signal's
// and has no rule here; that the rule may be one that the assembler is known to
// write wrongly; or nothing. A missing rule is no error: assemblers leave out
// functions that they cannot describe, and other unwind information has them. A
// rule is never used outside its addresses.
//
// # Bad input
//
// No input makes it panic, loop or allocate out of proportion to its size. New
// reads the whole section once: a fault of a table, a function or a row is kept
// as an [*Error] with the field's name and offset ([Table.Problems]). A damaged
// table has no functions, a damaged function no rows, and the others are as
// good as before. Functions that claim the same code are all left out.
//
// # Sources
//
// The SFrame specification, versions 1 to 3 with errata (binutils, libsframe),
// and where it is silent, the output of binutils' assembler and readelf.
package sframe
