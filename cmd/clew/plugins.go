package main

import (
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/pluginhost"
)

func pluginsCommand() *cobra.Command {
	var format, configPath string
	c := &cobra.Command{
		Use:   "plugins",
		Short: "List the unwinder plugins, and check that they work.",
		Long: `Starts every unwinder plugin, asks it for its version, and lists them by rank: the
first that covers a frame's code is asked first. The exit code is 1 when one
does not work.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return runPlugins(c, format, configPath) },
	}
	configFlag(c, &configPath)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(decodeFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runPlugins(c *cobra.Command, format, configPath string) error {
	if !slices.Contains(decodeFormats, format) {
		return unknown("format", format, decodeFormats)
	}
	strats, err := openStrategies(configPath, nil, func(string) {})
	if err != nil {
		return err
	}
	defer strats.close()
	failed := 0
	for _, s := range strats.order {
		if _, err := s.Unwinder.Describe(c.Context()); err != nil {
			failed++ // Health says why
		}
	}
	health := strats.host.Health()
	if format == "json" {
		var text []byte
		if text, err = json.MarshalIndent(map[string]any{"plugins": health}, "", "  "); err == nil {
			_, err = c.OutOrStdout().Write(append(printable.JSON(text), '\n'))
		}
	} else {
		err = pluginhost.WriteTable(c.OutOrStdout(), health)
	}
	if err != nil {
		return failf("write the list: %v", err)
	}
	if failed > 0 {
		return failf("%d of %d plugins do not work; see the list", failed, len(health))
	}
	return nil
}
