package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/server/delve"
)

// takeOverVersion has the version command name clew after Delve. Delve's lines stay
// first and as they are: tools that look for dlv parse them.
func takeOverVersion(root *cobra.Command) error {
	info := version.Get()
	delve.NameBuild("github.com/go-delve/delve " + info.Delve)
	c, _, err := root.Find([]string{"version"})
	if err != nil {
		return err
	}
	setUsage(c)
	c.Short = "Print the versions of clew and of Delve in it."
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	delvePrints := c.Run
	c.Run = func(c *cobra.Command, args []string) {
		if !*asJSON {
			delvePrints(c, args)
			fmt.Fprintln(c.OutOrStdout(), info)
			return
		}
		out, err := json.Marshal(info)
		if err == nil {
			fmt.Fprintf(c.OutOrStdout(), "%s\n", out)
		}
	}
	return nil
}
