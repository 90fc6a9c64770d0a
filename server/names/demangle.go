package names

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxLength bounds a demangled name, as a power of 2 in bytes: short mangled names
// can stand for huge ones.
const maxLength = 14

// Bounds on symbols that are demangled, in bytes: of half a million of Debian's and Rust's the longest has 1,282. The library for C++ takes time that grows
// faster than a symbol does: 14 s for 64 KiB of scopes.
const (
	maxSymbol = 1 << 16
	maxCPP    = 1 << 13
)

// Demangle returns the name that a C++ or Rust compiler mangled, with template
// arguments and parameters. Other names come back as they are, those of D too: DWARF has them.
func Demangle(name string) string {
	if !strings.HasPrefix(name, "_") || len(name) > maxSymbol {
		return name
	}
	shown, ok := rust(name)
	switch {
	case ok:
		return shown
	case strings.HasPrefix(name, "_R"), len(name) > maxCPP:
		return name
	}
	shown = cpp(name)
	if end := strings.IndexAny(name, ".@"); end > 0 && shown == name {
		if whole := cpp(name[:end]); whole != name[:end] { // of a variable, of a clone that the library does not know, with a version
			return whole
		}
	}
	return shown
}

// cpp reads names of C++.
func cpp(name string) string {
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(maxLength))
}
