//go:build manpages

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/clewdbg/clew/internal/version"
)

func init() { ownCommands = append(ownCommands, manCommand) }

// manCommand is for a release's manual pages, a file for each command. It is in no clew but the one that the release builds
// for that: the library takes a quarter of a megabyte of each of clew's processes.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages into a folder.",
		Hidden: true,
		Args:   wantArgs(1, 1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return failf("%v", err)
			}
			info := version.Get()
			header := &doc.GenManHeader{Section: "1", Source: "clew " + info.Version, Manual: "clew"}
			if at, err := time.Parse(time.RFC3339, info.Time); err == nil {
				header.Date = &at // not today: the same commit has the same pages
			}
			if err := writePages(c.Root(), header, args[0]); err != nil {
				return failf("write the manual pages: %v", err)
			}
			return nil
		},
	}
}

// writePages writes the pages of a command and of those below it. Those of clew's own
// leave Delve's global flags out, as their helps do.
func writePages(c *cobra.Command, header *doc.GenManHeader, folder string) error {
	c.DisableAutoGenTag = true
	hideInherited(c, c.GroupID == groupID)
	var page bytes.Buffer
	if err := doc.GenMan(c, header, &page); err != nil {
		return err
	}
	hideInherited(c, false)
	header.Title = "" // GenMan fills it with the command's name
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(folder, name), page.Bytes(), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			if err := writePages(sub, header, folder); err != nil {
				return err
			}
		}
	}
	return nil
}
