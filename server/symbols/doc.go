// Package symbols gives names, bounds, source lines and inlined calls for code in ELF and
// Mach-O files: Go functions from Go's own table (stripped files have it too), others
// from the symbol tables and DWARF. Addresses are link-time addresses
// (vaddr); where the file is loaded is the caller's business.
//
// A separate debug file, found by build ID or .gnu_debuglink, adds what was
// stripped; one of another build is named and not used ([OpenWithDebug]). Where there
// is none, the names that a stripped file keeps in .gnu_debugdata count. Split units
// (.dwo, .dwp), dwz's alternate files, dSYMs and the object files that a Mach-O image
// lists are found beside the file or where it says.
//
// Everything is read when first asked for, and a part that is missing or
// corrupt only means that less is known.
package symbols
