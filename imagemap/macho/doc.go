// Package macho reads the parts of a Mach-O image that a debugger needs: its
// segments and sections, its UUID, its symbols and the list of its functions. It
// reads them from a file, thin or universal, or from the memory of a process.
//
// Sources: Apple's <mach-o/loader.h>, <mach-o/nlist.h> and <mach-o/fat.h>. Images
// of x86, x86-64 and arm64 are read, which are little-endian; others are named by
// an error.
//
// Addresses are the linker's (vmaddr). An image's base is the vmaddr of its segment
// __TEXT, which begins with the Mach-O header: in an image that is loaded with its
// header at H, everything lies at vmaddr + H - base.
//
// Package debug/macho of the standard library is not used: it reads all symbols
// before it returns, so that it cannot read an image in memory without symbols,
// and leaves out the list of functions.
package macho
