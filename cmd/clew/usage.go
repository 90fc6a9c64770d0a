package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		if near := nearFlags(c, unknown.GetSpecifiedName()); len(near) > 0 {
			return fmt.Sprintf("%v; did you mean --%s?", err, strings.Join(near, " or --"))
		}
	case errors.As(err, &invalid) && errors.As(err, &number):
		if errors.Is(number.Err, strconv.ErrRange) {
			return fmt.Sprintf("--%s %s is out of range", invalid.GetFlag().Name, invalid.GetValue())
		}
		return fmt.Sprintf("--%s takes a number, not %q", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err.Error()
}

// nearFlags returns the flags whose names are like this one, by the measure that cobra
// has for commands.
func nearFlags(c *cobra.Command, name string) []string {
	flags := cobra.Command{SuggestionsMinimumDistance: 2}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return flags.SuggestionsFor(name)
}

// completeProcess offers the processes of this user's that can be attached to, with
// their executables.
func completeProcess(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	var list []string
	for _, dir := range found {
		// A process of another user's hides its executable, a thread of the kernel has none.
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && filepath.Base(dir) != strconv.Itoa(os.Getpid()) {
			list = append(list, cobra.CompletionWithDesc(filepath.Base(dir), exe))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
