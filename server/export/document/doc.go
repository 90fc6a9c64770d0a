// Package document is the interchange form of backtraces and image maps: `clew
// decode` makes it of a CBF, a CIF or Swift's envelope, and `clew encode` makes one
// of those of it. A [Document] comes from data ([Read]) or from JSON ([Parse]), and
// goes to either. The JSON's schema is decode.schema.json, next to the
// snapshot's.
//
// # Recognising a format
//
// Neither CBF nor CIF has a magic number: both begin with the same information byte.
// [Recognise] goes by the contents, in this order:
//
//  1. The first character that is no white space is a brace: Swift's envelope, or
//     clew's own JSON. That is this package's where an object has the fields wordSize
//     and frames, that of clew stack where it has stacks, a snapshot where it has
//     threads and memory. An information byte cannot be one, nor white space. 1f 8b
//     begins a profile.
//  2. Both are tried on the whole data. If only one of them can be read without
//     an error to exactly the last byte, it is the one. Example: the CIF 02 00 00
//     (no platform, no images) is also the CBF "end" and a byte too many.
//  3. If both can, the file is what its name says: a CIF if it ends in .cif, else
//     a CBF. Example: 02 10 30 and 16 more bytes that happen to fit.
//  4. If neither can, the name decides where it ends in .cbf or .cif, and else
//     the one that gets further, in a tie CBF: then the error is about the
//     damage of the file. Bytes that follow the end of a backtrace are no
//     damage, since a container may pad.
//
// # What JSON cannot say
//
// Whether a complete backtrace had its end marked, or data behind its end: it is
// written with the end marked and nothing behind. Paths are bytes, and JSON
// strings are not; bytes of a path that are not UTF-8 are written as the
// surrogates U+DC80 to U+DCFF, as Python does (PEP 383), and read back as bytes.
package document
