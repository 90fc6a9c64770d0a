package internals

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestCheck: this release of Delve is the one that clew was written for.
func TestCheck(t *testing.T) {
	if err := Check(); err != nil {
		t.Error(err)
	}
}

func TestEntries(t *testing.T) {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
		if e.Name == "" || e.Where == "" || e.Breaks == "" || e.Proof == "" {
			t.Errorf("incomplete: %+v", e)
		}
		if e.Static() != strings.HasPrefix(e.Proof, "Check") {
			t.Errorf("%s: proof %q", e.Name, e.Proof)
		}
	}
	slices.Sort(names)
	if distinct := slices.Compact(slices.Clone(names)); len(distinct) != len(names) {
		t.Errorf("two entries have the same name: %v", names)
	}
}

// TestChanged: the error names Delve's version, the entry, where it is, and what was found.
func TestChanged(t *testing.T) {
	err := Changed(EntryHardcodedID, "it is %d", 7)
	var changed *Error
	if !errors.As(err, &changed) || changed.Entry != EntryHardcodedID || changed.Version == "" {
		t.Fatalf("%#v", err)
	}
	for _, want := range []string{Version(), EntryHardcodedID, "hardcodedBreakpointID", "it is 7"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for range b.N {
		for _, e := range Entries() {
			if e.check != nil {
				_ = e.check()
			}
		}
	}
}
