// Package imagemap holds the list of images (executables and libraries) of a
// process, reads and writes it in the Compact ImageMap Format (CIF), version 0,
// and captures it from a live Linux process.
//
// # The format
//
// Byte 0 is the information byte, version<<2 | size, where size 0, 1 and 2 mean
// machine words of 16, 32 and 64 bits. Then:
//
//	platform   a length byte and that many bytes of UTF-8
//	count      the number of images, as a 7-bit integer
//	images     sorted by base address, each
//	  header   r0aaaeee
//	  base     aaa+1 bytes, sign-extended; r=1: relative to the previous base
//	  end      eee+1 bytes, sign-extended: end of text, relative to the base
//	  build ID its length as a 7-bit integer (0: none), its bytes
//	  path     opcodes, see below
//
// Values of several bytes are big-endian and wrap at the word size. A 7-bit
// integer has its most significant group first and the top bit set on all bytes
// but the last. Swift pads some of them with a leading 0x80; padding is read, and
// never written.
//
// The platform field came with Swift 6.2. Older data has none, and nothing in the
// data tells: see [DecodeOptions].NoPlatform.
//
// Paths are opcodes:
//
//	00000000  end of the path; as the very first opcode: no path at all
//	00cccccc  c raw bytes follow
//	01cccccc  a version byte V and c+1 bytes N follow: appends
//	          /N.framework/Versions/V/N, or, with V 01, /N.framework/N; ends the path
//	10cccccc  appends prefix c
//	11cccccc  c+1 bytes follow, the number v: appends prefix v+64
//
// Prefixes 0 to 11 are fixed, 12 to 31 reserved. The raw bytes of a path, over
// all its raw opcodes, define more, from 32 up: whenever a / or \ is read that is
// not the first raw byte of this path, the raw bytes before it get the next code.
//
// Swift 6.2 misreads two of these forms: see [EncodeOptions].Swift62.
//
// # Damaged data
//
// An image is never lost silently. [Decode] fails with an [*Error] that has the
// byte offset, and returns the images before it; a path that makes no sense while
// the data around it does costs that path only, and is reported as one of
// [PathErrors]. Limits, in part those of Swift's reader: [MaxImages],
// [MaxBuildID], [MaxPath]. Memory is only reserved for as much as the data can hold.
//
// # Capture
//
// [Capture] finds the images of a live process from /proc/PID/maps and the ELF
// headers of the mapped files, or of the memory where a file is gone. What it
// learns beyond CIF (load bias, executable ranges, the state of the file) is in
// [Image].Loaded and is not stored in CIF. See [Source] for the rules.
package imagemap
