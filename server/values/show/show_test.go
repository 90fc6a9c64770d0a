package show

import (
	"strings"
	"testing"
)

// TestBuiltin: the formatters that come with clew can be read, and are for these types.
func TestBuiltin(t *testing.T) {
	for name, want := range map[string]Kind{
		"std::vector<int, std::allocator<int> >": Range, "std::map<int, long>": Tree, "alloc::string::String": Text, "std::__cxx11::list<int>": List,
		"std::vector<bool, std::allocator<bool> >": Each, "my::vector<int>": "", "std::vector": "",
	} {
		got := Kind("")
		for _, f := range Builtin() {
			if f.Matches(name) {
				got = f.Kind
				break
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestParse: what is no formatter is refused with the reason.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`[{"type": "x", "kind": "text", "pointer": "p"}]`:                "missing",
		`[{"type": "x", "kind": "heap"}]`:                                "not known",
		`[{"type": "(", "kind": "same", "value": "v"}]`:                  "missing closing",
		`[{"type": "x", "kind": "same", "value": "v", "colour": "red"}]`: "colour",
		`{}`: "cannot unmarshal",
		`[{"type": "^Point$", "kind": "same", "value": "xy"}]`: "",
	} {
		_, err := Parse([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
