package main

import (
	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/names"
)

// namesFlag adds --names.
func namesFlag(c *cobra.Command, style *names.Style) {
	c.Flags().Var(style, "names", "names in text: short (no arguments of templates and functions) or full (default: short on a terminal)")
	_ = c.RegisterFlagCompletionFunc("names", cobra.FixedCompletions(names.Styles, cobra.ShellCompDirectiveNoFileComp))
}
