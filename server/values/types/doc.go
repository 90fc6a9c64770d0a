// Package types reads the types of variables from DWARF, as the languages of native code
// have them: C, C++, Rust and others with the same entries.
//
// A type is read when it is asked for, and its members when those are asked for. So a type that
// contains itself, or a graph of a million types, costs what is looked at. All that a
// file claims is bounded: the members of a type, the dimensions of an array, the types that lead to a
// type. Sizes are numbers only: nothing is allocated for them.
//
// Sources: DWARF 5, chapter 5; DWARF 2 to 4 for bit fields (DW_AT_bit_offset) and for
// members' places that are expressions.
package types
