package native

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Code is the native code of a target at one stop. It is safe for concurrent use.
type Code struct{ images *codemap.Map }

// Of returns the native code of the images. It reads nothing; what is read is kept with the images' files.
func Of(m *codemap.Map) *Code { return &Code{m} }

// IsNative says whether an address is in the code of an image, and not Go's by Go's own tables.
func (c *Code) IsNative(addr uint64) bool {
	img, ok := c.images.FileAt(addr)
	return ok && (img.File == nil || !img.File.IsGo(addr-img.Bias))
}

// Function is a function, or a copy of one that is inlined into another.
type Function struct {
	Name      string // with its scopes, without arguments of templates and parameters
	Signature string // as the demangler writes it
	Entry     uint64
	// Body is behind the prologue, where arguments are where debugging information says that they are.
	Body    uint64
	Ranges  []unwind.Range // the function's code, with that of parts which are moved away
	Image   string
	File    string // where it begins, as [FindSource] has it; "" if it is not known
	Line    int
	Symbol  bool // a symbol is all that is known of it
	Inlined bool
	// Resolver says that it only chooses which function is called by its name (STT_GNU_IFUNC): its own code runs once.
	Resolver bool
}

// Contains says whether an address is in the function's code.
func (f *Function) Contains(addr uint64) bool {
	return slices.ContainsFunc(f.Ranges, func(r unwind.Range) bool { return r.Contains(addr) })
}

// maxFunctions bounds the functions that one name stands for.
const maxFunctions = 1 << 12

// Functions returns the functions that a name means, by address. There may be more than maxFunctions: those are left out.
func (c *Code) Functions(name string) []Function {
	found, _ := c.functions(name)
	return found
}

func (c *Code) functions(name string) (found []Function, more bool) {
	if strings.TrimSpace(name) == "" {
		return nil, false
	}
	for img := range c.images.Files {
		all, others := img.File.NativeNamed(name)
		more = more || others
		for i := range all {
			if len(found) == maxFunctions {
				return found, true
			}
			found = append(found, c.function(img, &all[i]))
		}
	}
	return found, more
}

// Matching returns the functions with code of their own whose name or signature has a match, by image and address: limit of them
// at most. more says that there are others.
func (c *Code) Matching(re *regexp.Regexp, limit int) (found []Function, more bool) {
	for img := range c.images.Files {
		all, others := img.File.NativeMatching(re.MatchString)
		more = more || others
		for i := range all {
			if all[i].Inlined {
				continue
			}
			if len(found) >= limit {
				return found, true
			}
			found = append(found, c.function(img, &all[i]))
		}
	}
	return found, more
}

// FunctionAt returns the function whose code has an address, as if nothing were inlined.
func (c *Code) FunctionAt(addr uint64) (Function, bool) {
	all := c.FunctionsAt(addr)
	if len(all) == 0 {
		return Function{}, false
	}
	return all[len(all)-1], true
}

// FunctionsAt returns the functions that the instruction at addr belongs to: the innermost inlined copy first, the
// function itself last. Each lies in the next.
func (c *Code) FunctionsAt(addr uint64) (found []Function) {
	img, ok := c.images.FileAt(addr)
	if !ok || img.File == nil {
		return nil
	}
	all := img.File.NativeAt(addr - img.Bias)
	for i := range all {
		found = append(found, c.function(img, &all[i]))
	}
	return found
}

// function binds a function to where its image is.
func (c *Code) function(img codemap.Bound, n *symbols.Native) Function {
	f := Function{
		Name: names.Short(n.Name), Signature: n.Name, Entry: n.Entry + img.Bias, Image: img.Path, File: sourceOf(n.File, img.Path), Line: n.Line,
		Symbol: n.Symbol, Inlined: n.Inlined, Resolver: n.Resolver,
	}
	for _, r := range n.Ranges {
		f.Ranges = append(f.Ranges, unwind.Range{Start: r.Start + img.Bias, End: r.End + img.Bias})
	}
	f.Body = c.body(img, n) + img.Bias
	return f
}

// Sources returns the paths of the source files of native code, sorted.
func (c *Code) Sources() []string {
	seen := make(map[string]bool)
	for img := range c.images.Files {
		for path := range img.File.NativeSources {
			if len(seen) < maxSources {
				seen[sourceOf(path, img.Path)] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for path := range seen {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// maxSources bounds the list of sources.
const maxSources = 1 << 17

var (
	// ErrNoLocation says that nothing is at a location: no function has the name, no code is of the line.
	ErrNoLocation = errors.New("no native code is there")
	// ErrAmbiguous says that a location stands for too many places.
	ErrAmbiguous = errors.New("it stands for too many places")
)

// LocationError says why a location cannot be used.
type LocationError struct {
	Spec string
	Err  error
}

// Error names the location.
func (e *LocationError) Error() string { return fmt.Sprintf("%s: %v", e.Spec, e.Err) }

// Unwrap returns the reason.
func (e *LocationError) Unwrap() error { return e.Err }
