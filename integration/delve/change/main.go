package change

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	if err := all(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "delve:", err)
		os.Exit(1)
	}
}

// all makes every change in turn, or those of some entries, and prints who notices.
func all(only []string) error {
	folder, err := os.MkdirTemp("", "delvechange")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	c, err := copyModules(folder)
	if err != nil {
		return err
	}
	if out, err := c.test("TestCheck", "./server/delve/internals"); err != nil {
		return fmt.Errorf("without any change: %s", out)
	}
	fmt.Println("| entry | change | who notices |")
	fmt.Println("|---|---|---|")
	missed := 0
	for i := range changes {
		ch := &changes[i]
		if len(only) > 0 && !slices.Contains(only, ch.entry) {
			continue
		}
		err := ch.noticed(c)
		if restored := c.restore(); restored != nil {
			return restored
		}
		if err != nil {
			missed++
			fmt.Printf("| `%s` | %s | NOT NOTICED: %v |\n", ch.entry, ch.what, err)
			continue
		}
		fmt.Println(ch.row())
	}
	if missed > 0 {
		return fmt.Errorf("%d changes were not noticed as expected", missed)
	}
	return nil
}

// row is the change's in the table.
func (ch *change) row() string {
	by := ch.by
	if ch.in != "" {
		by += " in " + strings.TrimPrefix(ch.in, "./")
	}
	return fmt.Sprintf("| `%s` | %s | %s |", ch.entry, ch.what, by)
}

// noticed makes the change, and says how it was not noticed as it should be.
func (ch *change) noticed(c *copied) error {
	for _, e := range ch.edits {
		if err := c.apply(e); err != nil {
			return err
		}
	}
	name, in := ch.by, ch.in
	if in == "" {
		name, in = "TestCheck", "./server/delve/internals"
	}
	if ch.by == byCompiler {
		in = "./server/terminal"
	}
	out, err := c.test(name, in)
	broken := strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]")
	switch {
	case err == nil:
		return fmt.Errorf("%s passes", name)
	case broken != (ch.by == byCompiler):
		return fmt.Errorf("the build: %s", brief(out))
	case !broken && !strings.Contains(out, ch.entry):
		return fmt.Errorf("the entry is not named: %s", brief(out))
	}
	return nil
}

func brief(out string) string {
	out = strings.Join(strings.Fields(out), " ")
	return out[:min(len(out), 300)]
}
