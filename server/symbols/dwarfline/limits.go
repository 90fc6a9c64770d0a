package dwarfline

// Limits on what a file can make the package do.
const (
	maxLoaded = 2 << 30 // bytes of all sections together, decompressed
	// units of a file, and of all: each takes about 350 bytes. LLVM's libraries have a million, one for each type
	maxUnits   = 1 << 20
	maxSession = 2 << 20
	maxClaims  = 1 << 10 // units that are tried for an address
	maxEntries = 1 << 24 // entries that are read of a unit, or of a function
	maxSpans   = 1 << 22 // ranges of a unit's functions, or of a file's units
	maxRanges  = 1 << 16 // ranges of one entry
	// ranges of a file that are read, however often the entries have the same
	maxRangesRead = 1 << 26
	maxNested     = 1 << 10 // calls that are inlined into each other
	maxHops       = 16      // references from an entry to the one that has its name
	maxName       = 16 << 10
	maxScopes     = 64      // that a name lies in
	maxRows       = 1 << 22 // rows of a line table
	maxFiles      = 1 << 16 // files or folders of a line table
	maxAbbrevs    = 1 << 16 // abbreviations of a unit
	maxFields     = 1 << 10 // attributes of an abbreviation
	maxProblems   = 32      // that are kept
	maxTailCalls  = 64      // functions on a path of tail calls
	maxPaths      = 256     // call sites that are followed to find it
	maxInstances  = 1 << 16 // functions of a unit that are searched for it
)
