package scripts

import (
	"bytes"
	"fmt"
	"os"
)

// end is what stands behind the table in a file.
const end = "<!-- end of its output -->\n"

// insert puts the table between the markers.
func (t *table) insert(name, begin string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, found := bytes.Cut(rest, []byte(end))
	if !ok || !found {
		return fmt.Errorf("%s has no place for the table", name)
	}
	var out bytes.Buffer
	out.Write(before)
	out.WriteString(begin)
	t.print(&out)
	out.WriteString(end)
	out.Write(after)
	return os.WriteFile(name, out.Bytes(), 0o644)
}
