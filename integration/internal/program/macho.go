package program

// MachOVariants are those whose native code is a Mach-O library: its tables are
// Apple's compact unwind information.
var MachOVariants = []Variant{
	{Name: "macho-O2-omit", MachO: "omit", Linkage: Opened},
	{Name: "macho-O2-omit-memory", MachO: "omit", Linkage: Opened, InMemory: true},
	{Name: "macho-O0-omit", MachO: "O0", Linkage: Opened},
	{Name: "macho-O2-fp-universal", MachO: "fp-universal", Linkage: Opened},
}
