package names

import (
	"strings"
	"sync"

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
	known.Lock()
	shown, ok := known.names[name]
	known.Unlock()
	if ok {
		return shown
	}
	shown = demangled(name)
	size := len(name) + len(shown)
	known.Lock()
	defer known.Unlock()
	if known.size+size > maxKnown || known.names == nil {
		known.names, known.size = make(map[string]string), 0
	}
	if size <= maxKnown/64 {
		known.names[strings.Clone(name)] = shown
		known.size += size
	}
	return shown
}

// maxKnown bounds the names that are kept, in bytes.
const maxKnown = 16 << 20

// known are names that have been demangled: one that is inlined in many places takes longer to demangle than to find.
var known struct {
	sync.Mutex
	names map[string]string
	size  int
}

func demangled(name string) string {
	shown, ok := rust(name)
	switch {
	case ok:
		return shown
	case strings.HasPrefix(name, "_R"), len(name) > maxCPP:
		return name
	}
	shown = cpp(name)
	// An entry of a linkage table (@plt) is no function of that name: breakpoints at the name would be set there, too.
	if end := strings.IndexAny(name, ".@"); end > 0 && shown == name && !strings.HasSuffix(name, "@plt") {
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
