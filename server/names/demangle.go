package names

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxLength bounds a demangled name, as a power of 2 in bytes: short mangled names
// can stand for huge ones.
const maxLength = 14

// Demangle returns the name that a C++ or Rust compiler mangled, with template
// arguments and parameters. Other names come back as they are, those of D too: DWARF has them.
func Demangle(name string) string {
	if !strings.HasPrefix(name, "_") {
		return name
	}
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(maxLength))
}
