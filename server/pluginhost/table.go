package pluginhost

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/clewdbg/clew/internal/printable"
)

// WriteTable writes a line for each plugin, for people; ranks count from 1.
func WriteTable(out io.Writer, list []Health) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RANK\tNAME\tVERSION\tSTATE\tPATH")
	for _, h := range list {
		state := string(h.State)
		if h.LastError != "" {
			state += ": " + short(h.LastError)
		}
		path := h.Path
		if h.Builtin {
			path += " (built in)"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", h.Rank+1, printable.Text(h.Name), printable.Text(h.Version), printable.Line(state), printable.Text(path))
	}
	return w.Flush()
}

// short is a text that leaves a table readable; JSON has all of it.
func short(text string) string {
	const most = 80
	text, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > most {
		text, more = string(r[:most]), true
	}
	if more {
		text += "..."
	}
	return text
}
