package dwarfline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestScopes asks for the names of functions that the linker has none for: they have
// their namespaces, types and the function that a local type lies in.
func TestScopes(t *testing.T) {
	want := []string{
		"app::(anonymous namespace)::Hidden::twice",
		"app::(anonymous namespace)::Method::outer",
		"app::(anonymous namespace)::Method::outer::Local::Inner::op",
		"app::(anonymous namespace)::Method::outer::{lambda()}::operator()",
		"app::(anonymous namespace)::alone",
		"app::call<>",
		"app::v2::versioned",
		"run::{unnamed type}::op",
	}
	for _, flags := range []string{"-O0 -gdwarf-5", "-O2 -gdwarf-4", "-O2 -gdwarf-5", "-O2 -gdwarf-5 -fdebug-types-section", "-O2 -gdwarf-5 -gsplit-dwarf", "-O2 -gdwarf-5 -flto"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			prog := build(t, testneed.Tool(t, "g++"), append([]string{"scopes.cc"}, strings.Fields(flags)...)...)
			table := openFile(t, prog)
			found := make(map[string]bool)
			for _, a := range sample(t, prog, 1<<20) {
				calls, _ := table.Calls(a)
				for _, c := range calls {
					if c.Linkage == "" && c.Scope != "" {
						name, _, arguments := strings.Cut(c.Scope+c.Name, "<app::")
						if arguments { // which GCC writes out
							name += "<>"
						}
						found[name] = true
					}
				}
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
				t.Errorf("names\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
			}
			for _, err := range table.Problems() {
				t.Error(err)
			}
		})
	}
}
