package main

import (
	"os"
	"slices"
	"testing"
)

// TestScripts: docs/install.md has the commands for every form.
func TestScripts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forms {
		if _, _, err := f.scripts(string(page)); err != nil {
			t.Errorf("%s: %v", f.heading, err)
		}
	}
	if _, _, err := forms[0].scripts("no such section"); err == nil {
		t.Error("a page without commands passes")
	}
}

// TestDifference: what is new, gone or changed is found.
func TestDifference(t *testing.T) {
	before := map[string]string{"a": "1", "b": "1", "c": "1"}
	after := map[string]string{"a": "1", "b": "2", "d": "1", "var/lib/dpkg/status-old": "1"}
	if got, want := difference(before, after), []string{"changed: b", "gone: c", "new: d"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
