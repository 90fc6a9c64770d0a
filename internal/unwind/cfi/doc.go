// Package cfi decodes DWARF call-frame information (.eh_frame, .debug_frame): from
// an address to a row of rules, and from a row to a [rule.Rule]. It evaluates the
// expressions that such a rule may have.
//
// It knows no processes and no files: a [Section] is bytes and the address
// that they have in the target. It is meant for every strategy that meets
// DWARF rules, not for one: compact unwind delegates functions to FDEs by their
// offset ([Table.At]), SFrame can be compared with the rows of the same code.
//
//	table := cfi.New(section, cfi.Options{Arch: unwind.AMD64, Bias: base})
//	fde, ok := table.Find(addr)
//	err := table.Row(fde, addr, &row)
//	r := row.Rule()
//	err = r.Apply(&frame, &caller)
//
// # Sources
//
// DWARF 5, sections 2.5 (expressions) and 6.4 (call frames); Linux Standard
// Base 5, chapter 10.6 (.eh_frame, .eh_frame_hdr, the encodings of pointers and
// the augmentations z, R, P, L); binutils for GNU's additions (S, args_size,
// negative_offset_extended); the ABI for the Arm 64-bit Architecture's DWARF
// document for B, G and the state of signed return addresses.
//
// # Hostile input
//
// No input makes it panic, loop or allocate out of proportion. Offsets and
// counts are checked before they are used. An expression may take a bounded
// number of steps with a bounded stack; remembered states have a bounded depth.
// An FDE that cannot be decoded is left out of the index, and the first
// problems are kept with section and offset ([Table.Problems]).
//
// # Which FDE counts
//
// No address should lie in two FDEs. Where one does, the FDE that starts last
// among those that contain the address counts, as for the binary search that
// runtimes do; of several with the same start the first in the section. An FDE
// does not count outside the code of its image ([Options.Code]).
package cfi
