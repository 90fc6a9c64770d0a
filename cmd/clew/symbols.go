package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/symbolstore"
)

// debuginfodPlace is the value of --symbols that stands for the user's servers.
const debuginfodPlace = "debuginfod"

// symbolsFlag adds --symbols to a command; what says what it does there.
func symbolsFlag(c *cobra.Command, place *string, what string) {
	c.Flags().StringVar(place, "symbols", "", what+" `PLACE`: a folder of files, a file, or debuginfod (the servers in DEBUGINFOD_URLS)")
}

// openSymbols opens the place that --symbols names; nil for "".
func openSymbols(ctx context.Context, place string) (*symbolstore.Store, error) {
	switch place {
	case "":
		return nil, nil
	case debuginfodPlace:
		client, err := debuginfod.Open()
		if err != nil {
			return nil, err
		}
		return symbolstore.Debuginfod(ctx, client, showDownload()), nil
	}
	return symbolstore.Open(place)
}

// showDownload shows how far a download is, on a terminal; nil elsewhere.
func showDownload() func(debuginfod.Progress) {
	if !export.Terminal(os.Stderr) {
		return nil
	}
	var shown time.Time
	return func(p debuginfod.Progress) {
		if now := time.Now(); now.Sub(shown) >= progressEvery {
			shown = now
			// The next output overwrites the line.
			fmt.Fprintf(os.Stderr, "%v: %d of %d KiB; Ctrl-C ends that\x1b[K\r", p.Request, p.Received>>10, p.Size>>10)
		}
	}
}

// endDownloads waits, where the user sees it, for the debug files that a stack lacked:
// the next one has them. The stack is out, and its program was left.
func endDownloads(ctx context.Context) { live.EndDownloads(ctx, showDownload()) }

// addCalls adds what --symbols has to a document. That an image has no symbols is
// said once, and no failure.
func (d *decoding) addCalls(name string, doc *document.Document) {
	if d.symbols == nil {
		return
	}
	if doc.Images == nil && len(doc.Frames) > 0 {
		d.problem(fmt.Sprintf("decode %s: --symbols needs the image map: name it with --images", name))
		return
	}
	doc.AddCalls(d.symbols)
	if d.ctx.Err() != nil {
		return // every image lacks its symbols, and it was the user's will
	}
	for _, note := range d.symbols.Notes() {
		d.errors.say(fmt.Sprintf("decode %s: note: %s", name, note))
	}
}
