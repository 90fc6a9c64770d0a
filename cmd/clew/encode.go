package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/export/document"
)

// encodeFlags are the flags of clew encode.
type encodeFlags struct {
	to     string
	strict bool
	output string
}

func encodeCommand() *cobra.Command {
	var f encodeFlags
	c := &cobra.Command{
		Use:   "encode --to cbf|image-map|swift|pprof FILE",
		Short: "Write a backtrace or image map from the JSON that clew decode writes.",
		Long: `Reads the output of clew decode --format json (- is standard input) and writes a
backtrace in the Compact Backtrace Format, an image map in the Compact ImageMap
Format, the JSON envelope that holds both for Swift's runtime, or a profile for
pprof, with the functions that clew decode --symbols has added. Several documents
in one file can become envelopes, one a line, or one profile.

A backtrace that is not complete ends in trunc, any other in end. The file of -o
appears whole or not at all.

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
		Example: "  clew decode --format json crash.cbf | clew encode --to cbf --strict -o strict.cbf -",
		Args:    wantArgs(1, 1, "one FILE (- is standard input)"),
		RunE:    func(c *cobra.Command, args []string) error { return runEncode(c, &f, args[0]) },
	}
	fl := c.Flags()
	fl.StringVar(&f.to, "to", "", "cbf, image-map, swift or pprof")
	fl.BoolVar(&f.strict, "strict", false, "write only instructions that the CBF specification has: no rep (image maps have only one form)")
	fl.StringVarP(&f.output, "output", "o", "", "write to this file")
	_ = c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(encodeFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runEncode(c *cobra.Command, f *encodeFlags, name string) error {
	if f.to == "" {
		return usageErrorf("clew encode needs --to %s", strings.Join(encodeFormats(), "|"))
	}
	if !slices.Contains(encodeFormats(), f.to) {
		return unknown("format", f.to, encodeFormats())
	}
	text, err := readInput(name, c.InOrStdin())
	if err != nil {
		return failf("%w", err)
	}
	data, err := encode(text, f.to, f.strict)
	if err != nil {
		return failf("encode %s: %w", name, err)
	}
	if f.output != "" && f.output != "-" {
		err = export.WriteFile(f.output, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	} else {
		_, err = c.OutOrStdout().Write(data)
	}
	if err != nil {
		return failf("%w", err)
	}
	return nil
}

// Errors of encode beyond those of the documents.
var (
	errNoDocument = errors.New("there is no document in it; clew decode --format json writes one")
	errSeveral    = errors.New("there are several documents in it, which only --to swift and pprof can write; pass one (or one line) at a time")
)

// encodeFormats are those of documents, but for the JSON that they are read from.
func encodeFormats() []string {
	return slices.DeleteFunc(document.FormatNames(), func(name string) bool { return name == document.JSON.String() })
}

func encode(text []byte, name string, strict bool) ([]byte, error) {
	to, err := document.ParseFormat(name)
	if err != nil {
		return nil, err
	}
	n := 0
	counted := func(yield func(*document.Document, error) bool) {
		for d, err := range document.Parse(text) {
			if n++; n > 1 && to != document.Swift && to != document.Pprof && err == nil {
				d, err = nil, errSeveral
			}
			if !yield(d, err) {
				return
			}
		}
	}
	var out bytes.Buffer
	if to == document.Pprof {
		err = document.WritePprof(&out, counted)
	} else {
		err = encodeEach(&out, counted, to, strict)
	}
	if err == nil && n == 0 {
		err = errNoDocument
	}
	return out.Bytes(), err
}

// encodeEach writes documents one after the other.
func encodeEach(out *bytes.Buffer, documents iter.Seq2[*document.Document, error], to document.Format, strict bool) error {
	for d, err := range documents {
		if err != nil {
			return err
		}
		data, err := d.Encode(to, strict)
		if err != nil {
			return err
		}
		out.Write(data)
	}
	return nil
}

// rootCause is an error without the operation and the path that the caller names
// himself.
func rootCause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
