package macho

// Symbols for debuggers (mach-o/stab.h).
const (
	stabFunction = 0x24 // N_FUN: a function's address, then without a name its size
	stabSource   = 0x64 // N_SO: without a name the end of what one object file gave
	stabObject   = 0x66 // N_OSO: an object file, and when it was modified
)

// Linked is a function of the image that a linker took from an object file. The
// debugging information stayed there.
type Linked struct {
	Name       string // as in the file
	Addr, Size uint64
	Object     string // path of the object file, or ARCHIVE(MEMBER)
	Modified   uint64 // when it was, in seconds since 1970; 0 if unknown
}

// DebugMap returns the functions whose debugging information is in object files, in
// the file's order. The error is an [*Error] or the reader's.
func (f *File) DebugMap() ([]Linked, error) {
	entries, names, err := f.named()
	if err != nil {
		return nil, err
	}
	var out []Linked
	var now Linked // the object, and a function whose size is to come
	for _, e := range entries {
		switch name := names.at(e.name); {
		case e.kind == stabObject:
			now = Linked{Object: name, Modified: e.value}
		case e.kind == stabSource && name == "":
			now = Linked{}
		case e.kind != stabFunction:
		case name != "":
			now.Name, now.Addr = name, e.value
		case now.Name != "" && now.Object != "" && now.Addr+e.value > now.Addr:
			now.Size = e.value
			out = append(out, now)
			now.Name = ""
		}
	}
	return out, nil
}
