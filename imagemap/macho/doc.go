// Package macho reads what a debugger needs of a Mach-O image: where its segments
// and sections lie, its UUID, its symbols and the list of its functions, from a
// file, thin or universal, or from the memory of the process that has it loaded.
//
// Sources: Apple's <mach-o/loader.h>, <mach-o/nlist.h> and <mach-o/fat.h>. Images
// of x86, x86-64 and arm64 are read, which are little-endian; others are named by
// an error.
//
// Addresses are those that the linker gave (vmaddr). An image's base is the vmaddr
// of its segment __TEXT, which begins with the Mach-O header: what is loaded with
// its header at H has everything at vmaddr + H - base.
//
// Package debug/macho of the standard library is not used: it reads all symbols
// before it returns, so that it cannot read an image in memory without symbols,
// and leaves out the list of functions.
package macho
