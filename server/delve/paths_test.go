package delve

import (
	"slices"
	"testing"
)

func TestEditSubstitutePath(t *testing.T) {
	rules := [][2]string{{"/build", "/home"}, {"/go", "/usr/go"}}
	for arguments, want := range map[string][][2]string{
		"-clear":             nil,
		" -clear ":           nil,
		"/home /other":       {{"/other", "/home"}, {"/go", "/usr/go"}},
		"/new /old":          {{"/build", "/home"}, {"/go", "/usr/go"}, {"/old", "/new"}},
		"/home":              {{"/go", "/usr/go"}},
		"-clear /usr/go":     {{"/build", "/home"}},
		"/unknown":           rules,
		"":                   rules,
		"a b c":              rules,
		`"/with space" "/b"`: {{"/build", "/home"}, {"/go", "/usr/go"}, {"/b", "/with space"}},
	} {
		if got := EditSubstitutePath(rules, arguments); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", arguments, got, want)
		}
	}
	if rules[0] != [2]string{"/build", "/home"} {
		t.Errorf("the rules that were passed have changed: %q", rules)
	}
}

func TestSubstitutePath(t *testing.T) {
	rules := [][2]string{{"/build", "/home"}}
	for path, want := range map[string]string{"/build/a.go": "/home/a.go", "/other/a.go": "/other/a.go"} {
		if got := SubstitutePath(path, rules); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := SubstitutePath("/build/a.go", nil); got != "/build/a.go" {
		t.Error(got)
	}
}
