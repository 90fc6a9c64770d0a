// Package elffile opens files and their ELF sections so that no file costs its
// readers more than it may: every reader in the server opens ELF files here.
//
//   - A file is opened without waiting, and only if it is a regular one: a pipe, a
//     device or a socket is refused ([OpenRegular]).
//   - The section headers are checked before debug/elf reads them: it copies the name
//     of each section, and a name may be as long as the file ([New]).
//   - What a file's sections hold, decompressed, is counted against what the disk
//     stores of the file. Sections that go over the budget are left out and named
//     ([LeftOutError]); the others are as they were. As the section's type becomes
//     SHT_NOBITS, each reader of the file inherits that.
//   - Symbols come one at a time, and share the memory of their names ([Symbols]).
//
// # The budget
//
// A file's sections may hold PerByte bytes for each byte that is stored: compilers'
// output is compressed to a tenth, seldom to a thirtieth, and ten zeros to a
// hundredth of a byte. A file that is smaller than that has Least; all files of a
// process together may use what Least allows them up to Session. Sparse
// files count by what is stored of them.
package elffile
