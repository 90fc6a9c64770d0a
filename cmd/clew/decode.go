package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbolstore"
)

// decodeFlags are the flags of clew decode.
type decodeFlags struct {
	format     string
	from       string
	images     string
	symbols    string
	names      names.Style
	noPlatform bool
}

func decodeCommand() *cobra.Command {
	var f decodeFlags
	c := &cobra.Command{
		Use:   "decode FILE...",
		Short: "Show backtraces (CBF), image maps (CIF), Swift's envelopes, and all that clew stack writes, as text or JSON.",
		Long: `Reads backtraces in the Compact Backtrace Format, image maps in the Compact
ImageMap Format, the JSON envelopes that hold both for Swift's runtime, profiles for
pprof, and clew's own JSON: what this command writes, stacks, and snapshots. Of a
snapshot it shows the stacks that were seen when it was made; clew unwind finds them
again. - is standard input.

The format is recognised by the contents. A file that can be read to its end both as a
backtrace and as an image map is taken for a backtrace, unless its name ends in .cif.
--from overrules that. --images names the image map of bare backtraces: their frames
are then shown with the images that they lie in.

--symbols adds to every frame its function and source line, and the functions that
are inlined there, from files with the build IDs of the image map. So the backtrace of
a stripped program gets its names later and elsewhere.

With --format json there is one line for each backtrace or image map, which clew
encode reads; a file that cannot be read at all has none. Addresses are
raw: a return address lies after its call.

Of a damaged file, what can be read is written, and the damage goes to stderr
with its byte offset (in an envelope, that in the decoded field).

Exit codes: 0 done, 1 failed or a file was damaged, 2 wrong usage.`,
		Example: "  clew decode crash.cbf\n  clew decode --images crash.cif crash.cbf\n  clew decode --images crash.cif --symbols /srv/debug crash.cbf\n  clew decode --format json crash.cbf crash.cif\n  swift-program | clew decode -",
		Args:    wantArgs(1, -1, "one or more FILEs (- is standard input)"),
		RunE:    func(c *cobra.Command, args []string) error { return runDecode(c, &f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.format, "format", "text", "text or json")
	fl.StringVar(&f.from, "from", "", "the files' format: cbf, image-map, swift, json or pprof (default: recognised)")
	fl.StringVar(&f.images, "images", "", "image map `FILE` (CIF) for backtraces that come without one")
	fl.BoolVar(&f.noPlatform, "no-platform", false, "image maps have no platform field (Swift before 6.2)")
	namesFlag(c, &f.names)
	symbolsFlag(c, &f.symbols, "add functions, lines and inlined functions by build ID, from")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(decodeFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(document.FormatNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

var decodeFormats = []string{"text", "json"}

func runDecode(c *cobra.Command, f *decodeFlags, files []string) error {
	if !slices.Contains(decodeFormats, f.format) {
		return unknown("format", f.format, decodeFormats)
	}
	o := document.Options{NoPlatform: f.noPlatform}
	if f.from != "" {
		var err error
		if o.Format, err = document.ParseFormat(f.from); err != nil {
			return usageErrorf("--from: %v", err)
		}
	}
	store, err := openSymbols(c.Context(), f.symbols)
	if err != nil {
		return failf("--symbols: %w", err)
	}
	d := &decoding{ctx: c.Context(), symbols: store, json: f.format == "json", titles: len(files) > 1, names: f.names.On(export.Terminal(c.OutOrStdout())), out: bufio.NewWriter(c.OutOrStdout()), errors: complaints{w: c.ErrOrStderr()}}
	defer d.errors.end("")
	if f.images != "" {
		o.Images = d.images(f.images, c.InOrStdin(), o)
	}
	for _, name := range files {
		data, err := readInput(name, c.InOrStdin())
		if err != nil {
			d.problem(err.Error())
			continue
		}
		o.Name = name
		if err := d.file(name, data, o); err != nil {
			return failf("write the output: %w", err)
		}
		if err := context.Cause(c.Context()); err != nil {
			return failf("%w", err)
		}
	}
	if err := d.out.Flush(); err != nil {
		return failf("write the output: %w", err)
	}
	return exitWith(d.code)
}

// decoding is one run over files.
type decoding struct {
	ctx     context.Context
	symbols *symbolstore.Store // nil: none are asked for
	json    bool
	titles  bool
	names   names.Style
	out     *bufio.Writer
	errors  complaints
	blocks  int
	code    int
}

// problem reports a fault of a file. The other files are read nevertheless.
func (d *decoding) problem(text string) {
	d.errors.say(text)
	d.code = exitFailed
}

// images reads the image map that --images names, as far as it can be read.
func (d *decoding) images(name string, stdin io.Reader, o document.Options) *imagemap.ImageMap {
	data, err := readInput(name, stdin)
	if err != nil {
		d.problem(err.Error())
		return nil
	}
	o.Format = document.ImageMap
	var m *imagemap.ImageMap
	for doc := range document.Read(data, o) {
		if m = doc.Images; doc.Err != nil {
			d.problem(fmt.Sprintf("decode %s: %s", name, complaint(doc, 1, false)))
		}
	}
	return m
}

// file writes the contents of a file. Only failures to write are errors.
func (d *decoding) file(name string, data []byte, o document.Options) error {
	if len(bytes.TrimSpace(data)) == 0 {
		d.problem(fmt.Sprintf("decode %s: offset 0: the file is empty; a backtrace has at least an information byte", name))
		return nil
	}
	if o.Format == document.Unknown && strings.Contains(filepath.Base(name), ".otlp") {
		d.problem(fmt.Sprintf("decode %s: clew writes profiles for OpenTelemetry (OTLP), and does not read them", name))
		return nil
	}
	n, left := 0, ""
	for doc := range document.Read(data, o) {
		n++
		d.addCalls(name, doc)
		if err := d.document(name, n, doc); err != nil {
			return err
		}
		if doc.Err != nil {
			// The part that was read goes out before the error about the rest.
			if err := d.out.Flush(); err != nil {
				return err
			}
			d.problem(fmt.Sprintf("decode %s: %s", name, complaint(doc, n, o.Format == document.Unknown)))
		}
		left = doc.NamesLeftOut()
	}
	if left == "" {
		return nil
	}
	if err := d.out.Flush(); err != nil {
		return err
	}
	d.problem(fmt.Sprintf("decode %s: %s", name, left))
	return nil
}

func (d *decoding) document(name string, n int, doc *document.Document) error {
	switch {
	case doc.WordSize == 0:
		return nil
	case d.json:
		return doc.WriteJSON(d.out)
	}
	if d.blocks > 0 {
		fmt.Fprintln(d.out)
	}
	d.blocks++
	if d.titles && n == 1 {
		fmt.Fprintf(d.out, "%s:\n", printable.Text(name))
	}
	doc.Names = d.names
	return doc.WriteText(d.out)
}

// complaint is the fault of a document, its place, and the remedy.
func complaint(doc *document.Document, n int, recognised bool) string {
	where := ""
	if doc.Format == document.Swift && n > 1 {
		where = fmt.Sprintf("envelope %d: ", n)
	}
	switch {
	case errors.Is(doc.Err, document.ErrTooLarge):
		return fmt.Sprintf("%s; make one of fewer samples, or in parts", doc.Err.Message())
	case doc.WordSize == 0 && doc.Format != document.Swift && doc.Format != document.JSON && recognised:
		return fmt.Sprintf("%v; this is no backtrace (CBF), image map (CIF) or Swift envelope", doc.Err)
	case doc.WordSize == 0:
		return fmt.Sprintf("%s%v; nothing of it could be read: is it really %s?", where, doc.Err, describe[doc.Format])
	case doc.Format == document.ImageMap:
		images := 0
		if doc.Images != nil {
			images = doc.Images.Len()
		}
		return fmt.Sprintf("%v; %s could be read: get the file again, or try --no-platform for one from Swift before 6.2", doc.Err, export.Count(images, "image"))
	}
	hint := "get the file again"
	if doc.Format == document.CBF && doc.Complete { // of --images, then
		hint = "name the image map that was written with it"
	} else if recognised && doc.Format == document.CBF {
		hint += ", or try --from image-map if it is one"
	}
	return fmt.Sprintf("%s%v; %s could be read: %s", where, doc.Err, export.Count(len(doc.Frames), "frame"), hint)
}

var describe = map[document.Format]string{
	document.CBF: "a backtrace (CBF)", document.ImageMap: "an image map (CIF)", document.Swift: "Swift's envelope",
	document.JSON: "JSON of clew's", document.Pprof: "a profile for pprof",
}

// maxInput is the most bytes that a file may have: far above any backtrace, and
// below the size of a machine's memory (a user may name /dev/zero).
const maxInput = 256 << 20

// readInput reads a whole file, or standard input for -.
func readInput(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w; check the name and the permissions", name, rootCause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("read %s: is a directory; of one that clew stack --format cbf has written, decode the files in it: clew decode --images images.cif *.cbf", name)
		}
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, rootCause(err))
	case len(data) > maxInput:
		return nil, fmt.Errorf("read %s: larger than %d MiB, which no backtrace needs", name, maxInput>>20)
	}
	return data, nil
}
