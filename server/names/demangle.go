package names

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxLength bounds a demangled name, as a power of 2 in bytes: short mangled names
// can stand for huge ones.
const maxLength = 14

// Demangle returns the name that a C++, Rust or D compiler mangled, with template
// arguments and parameters. Other names come back as they are.
func Demangle(name string) string {
	switch {
	case !strings.HasPrefix(name, "_"):
		return name
	case strings.HasPrefix(name, "_D"):
		if out, ok := demangleD(name); ok && len(out) <= longest {
			return out
		}
		return name
	}
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(maxLength))
}
