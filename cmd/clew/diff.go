package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/listing"
)

func diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two listings of stacks: which groups grew or shrank.",
		Long: `Prints which groups of stacks grew or shrank from A to B, those that grew most
first. A and B are files written by clew stack --format json or snapshot, of one process
or of two runs. A group is the stacks that have the same functions and wait reason.

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  clew stack --pid 4711 --format json -o a.json
  clew stack --pid 4711 --format json -o b.json
  clew diff a.json b.json`,
		Args: wantArgs(2, 2, "two files"),
		RunE: func(c *cobra.Command, args []string) error {
			var files [2]*os.File // both are opened before one is read, which may take long
			for i, path := range args {
				var err error
				if files[i], err = os.Open(path); err != nil {
					return failf("read %s: %v; check the name and the permissions", path, rootCause(err))
				}
				defer files[i].Close()
			}
			var stacks [2][]stackjson.Stack
			for i, f := range files {
				var err error
				if stacks[i], err = readListing(f, maxListing); err != nil {
					return failf("%s: %v", args[i], err)
				}
			}
			if err := writeChanges(c.OutOrStdout(), listing.Compare(stacks[0], stacks[1])); err != nil {
				return failf("%v", err)
			}
			return nil
		},
	}
}

// maxListing bounds a listing's file, in bytes.
const maxListing = 1 << 30

// readListing reads the stacks that clew stack has written as JSON, or that a snapshot
// was made of.
func readListing(f io.Reader, most int64) ([]stackjson.Stack, error) {
	r := bufio.NewReader(f)
	if begin, _ := r.Peek(1); bytes.Equal(begin, []byte{0}) {
		return nil, errors.New("not JSON")
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("larger than %d MiB; list with --limit or --group", most>>20)
	}
	answer, err := stackjson.ParseAnswer(data)
	if err == nil && answer.Error == "" {
		return answer.Stacks, nil
	}
	s, notSnapshot := snapshot.Parse(bytes.TrimSpace(data))
	if notSnapshot != nil {
		return nil, err
	}
	if s.Expect == nil {
		return nil, fmt.Errorf("the snapshot lacks the stacks that were seen when it was made")
	}
	text, err := json.Marshal(s.Expect)
	if err != nil {
		return nil, err
	}
	answer, err = stackjson.ParseAnswer(text)
	return answer.Stacks, err
}

// framesShown is how many of a group's functions are printed.
const framesShown = 12

func writeChanges(w io.Writer, changes []listing.Change) error {
	var b strings.Builder
	if len(changes) == 0 {
		b.WriteString("no group of stacks has grown or shrunk\n")
	}
	for i, c := range changes {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%+d: %s before, %s after", c.After-c.Before, export.Thousands(c.Before), export.Thousands(c.After))
		if c.Status != "" {
			fmt.Fprintf(&b, " [%s]", printable.Text(c.Status))
		}
		b.WriteByte('\n')
		for j, f := range c.Functions {
			if j == framesShown {
				fmt.Fprintf(&b, "  ... %s more\n", export.Thousands(len(c.Functions)-j))
				break
			}
			fmt.Fprintf(&b, "  %s\n", printable.Text(f))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
