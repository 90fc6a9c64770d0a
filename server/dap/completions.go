package dap

import (
	"context"
	"strings"
	"unicode/utf16"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/export"
)

// completion is a proposal for the console: text that takes the place of the
// last length characters before the cursor.
type completion struct {
	dap.CompletionItem
	Start  int `json:"start"` // column, counted from 0; go-dap leaves 0 out, and the editor then takes the cursor
	Length int `json:"length"`
}

type completionsBody struct {
	Targets []completion `json:"targets"`
}

// onCompletions proposes clew's own commands and their arguments, and in a frame what an expression can become. Delve has no
// completions.
func (c *console) onCompletions(ctx context.Context, m *dapwire.Message) error {
	var args dap.CompletionsArguments
	if err := m.Decode("arguments", &args); err != nil {
		return wire.ArgumentError(err)
	}
	column := args.Column
	if c.caps.ColumnsStartAt1 == nil || *c.caps.ColumnsStartAt1 {
		column--
	}
	units := utf16.Encode([]rune(args.Text)) // what columns count
	answer := completionsBody{[]completion{}}
	if args.Line <= 1 && column >= 0 && column <= len(units) {
		before := string(utf16.Decode(units[:column]))
		word, all := before[lastWord(before):], proposals(before)
		if args.FrameId != 0 && !strings.HasPrefix(strings.TrimLeft(before, " \t"), "clew ") {
			var names []proposal
			if word, names = c.complete(ctx, args.FrameId, before); len(all) > 0 { // "clew" itself
				names = append(names, all...)
			}
			all = names
		}
		length := len(utf16.Encode([]rune(word)))
		for _, p := range all {
			answer.Targets = append(answer.Targets, completion{dap.CompletionItem{Label: p.name, Type: p.kind}, column - length, length})
		}
	}
	c.wire.Client.Respond(m, answer)
	return nil
}

// lastWord is where the last word of a text begins.
func lastWord(text string) int { return strings.LastIndexAny(text, " \t") + 1 }

// proposals returns the words that the last, unfinished one of a command can become.
func proposals(text string) (out []proposal) {
	at := lastWord(text)
	last := text[at:]
	for _, w := range nextWords(strings.Fields(text[:at]), last) {
		if strings.HasPrefix(w, last) && w != last {
			out = append(out, proposal{w, "keyword"})
		}
	}
	return out
}

// nextWords returns the words that can follow those of a command.
func nextWords(before []string, last string) (out []string) {
	switch {
	case len(before) == 0 && last == "": // may become any expression
	case len(before) == 0:
		return []string{"clew"}
	case before[0] != "clew":
	case len(before) == 1, len(before) == 2 && before[1] == "help":
		for _, h := range consoleHelps {
			out = append(out, h.name)
		}
	case before[1] == "export" && before[len(before)-1] == "--format":
		return export.FormatNames()
	case before[1] == "export":
		return []string{"all", "threads", "--format", "--depth"}
	case before[1] == "stack":
		return []string{"all", "threads", "--depth"}
	}
	return out
}
