package change

import (
	"os"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/delve/internals"
)

// TestCheckNotices: with all that the check proves changed at once, it names every
// entry. The command proves it of each change alone.
func TestCheckNotices(t *testing.T) {
	folder := t.TempDir()
	t.Chdir("../../..")
	c, err := copyModules(folder)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for i := range changes {
		ch := &changes[i]
		if ch.by != byCheck || made[ch.entry] {
			continue
		}
		made[ch.entry] = true
		for _, e := range ch.edits {
			if err := c.apply(e); err != nil {
				t.Fatalf("%s: %v", ch.entry, err)
			}
		}
	}
	out, err := c.test("TestCheck", "./server/delve/internals")
	if err == nil {
		t.Fatal("nothing was noticed")
	}
	for _, e := range internals.Entries() {
		if e.Static() && !strings.Contains(out, ": "+e.Name+" (") {
			t.Errorf("%s is not named in %s", e.Name, out)
		}
	}
}

// TestEveryEntryIsChanged: there is a change for each entry, and the table in the
// README is that of the changes.
func TestEveryEntryIsChanged(t *testing.T) {
	readme, err := os.ReadFile("../../../server/delve/internals/README.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for i := range changes {
		have[changes[i].entry] = true
		if row := changes[i].row(); !strings.Contains(string(readme), row+"\n") {
			t.Errorf("the README has no row %s", row)
		}
	}
	for _, e := range internals.Entries() {
		if !have[e.Name] {
			t.Errorf("%s is never changed", e.Name)
		}
		if !strings.Contains(string(readme), "`"+e.Name+"`") || !strings.Contains(string(readme), e.Breaks) {
			t.Errorf("the README does not say what breaks without %s", e.Name)
		}
	}
}
