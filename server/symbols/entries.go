package symbols

import "github.com/clewdbg/clew/server/symbols/dwarfline"

// DWARF is the file's debugging information, or that of its separate debug file; nil where there is
// none, or it is in several files (Mach-O's object files).
func (f *File) DWARF() *dwarfline.Table {
	t, _ := f.dwarf().(*dwarfline.Table)
	return t
}
