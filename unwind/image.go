package unwind

// ImageID names an image between host and strategies. The host chooses it; it
// is never used twice in a session.
type ImageID uint32

// Image is a program or library in the target's address space, or an area of
// code that no file backs.
type Image struct {
	ID ImageID
	// Base is where it is loaded: for ELF the load bias (the address of vaddr 0,
	// the difference between an address in the target and the same address in the
	// file); for Mach-O the address of the header.
	Base uint64
	// Path is a hint; a strategy may read that file only if its build ID is
	// BuildID.
	Path    string
	BuildID []byte
	// Executable lists the executable ranges in the target's address space.
	Executable []Range
	// Sections holds those sections of the image that the strategy's description
	// names.
	Sections []Section
}

// Section returns the section of that name, the zero value where the image has none.
func (i *Image) Section(name string) Section {
	for _, s := range i.Sections {
		if s.Name == name {
			return s
		}
	}
	return Section{}
}

// Section is a named piece of an image's contents.
type Section struct {
	Name string // ".eh_frame", "__unwind_info"
	Addr uint64 // in the target's address space; 0 if not loaded there
	Data []byte
}

// ImageDelta holds the changes of a target's images since the last delta.
type ImageDelta struct {
	Arch    Arch
	OS      string
	Added   []Image
	Removed []ImageID
	// PACMask has the bits set that pointer authentication uses in a return
	// address (R11); 0 without pointer authentication.
	PACMask uint64
}

// ImageReport is a strategy's answer about one added image. Problem is not
// empty if the image's unwind information cannot be used, in whole or in part;
// it is shown to the user and is not an error.
type ImageReport struct {
	ID       ImageID
	Coverage RangeSet
	Problem  string
}
