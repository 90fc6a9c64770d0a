// Package symbols finds names, bounds and source lines for code in ELF and Mach-O files:
// Go functions from Go's own table (stripped files have it too), others from
// the symbol tables and DWARF's line tables. Addresses are link-time addresses
// (vaddr); the caller adds the load bias.
//
// A separate debug file, found by build ID or .gnu_debuglink, adds what was
// stripped; one of another build is named and not used ([OpenWithDebug]). Without
// one, the names that a stripped file keeps in .gnu_debugdata count.
//
// Everything is read when first asked for, and a part that is missing or
// corrupt only means that less is known.
package symbols
