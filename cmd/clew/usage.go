package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupID is the group that clew's own commands have in the help.
const groupID = "clew"

// setUsage has one of clew's own commands report wrong usage in one line, and leave
// Delve's global flags, which mean nothing to it, out of its help.
func setUsage(c *cobra.Command) {
	c.GroupID = groupID
	c.SetUsageFunc(new(cobra.Command).UsageFunc()) // not Delve's, which hides flags of version
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageErrorf("%s; see %s --help", flagProblem(c, err), c.CommandPath())
	})
	help := c.HelpFunc()
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		hideInherited(c, true)
		help(c, args)
		hideInherited(c, false)
	})
}

func hideInherited(c *cobra.Command, hidden bool) {
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = hidden })
}

// flagProblem is an error about a flag in words that name no Go function, with the
// flag that was probably meant.
func flagProblem(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	switch {
	case errors.As(err, &unknown):
		flags, known := c.Flags(), []string(nil)
		if c.GroupID == groupID { // Delve's global flags mean nothing to it
			flags = c.LocalFlags()
		}
		flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := near(unknown.GetSpecifiedName(), known); len(near) > 0 {
			return fmt.Sprintf("%v; did you mean --%s?", err, strings.Join(near, " or --"))
		}
	case errors.As(err, &invalid) && errors.As(err, &number):
		if errors.Is(number.Err, strconv.ErrRange) {
			return fmt.Sprintf("--%s %s is out of range", invalid.GetFlag().Name, invalid.GetValue())
		}
		return fmt.Sprintf("--%s takes a number, not %q", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		return fmt.Sprintf("--%s takes a time with its unit, such as 500ms or 2s, not %q", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid):
		return fmt.Sprintf("--%s: %v", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return err.Error()
}

// unknown refuses an unknown name, and says which of the known ones was probably meant.
func unknown(what, name string, known []string) error {
	hint := ""
	if near := near(name, known); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageErrorf("unknown %s %q; known: %s%s", what, name, strings.Join(known, ", "), hint)
}

// near returns the names that are like this one, by the measure that cobra has for
// commands.
func near(name string, known []string) []string {
	all := cobra.Command{SuggestionsMinimumDistance: min(2, len(name)/2)}
	for _, k := range known {
		all.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(name)
}
