// Package suite makes one program of several measurements that share a subject, each with arguments of its own.
package suite

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Run runs the measurement that the first argument names. It finds its own arguments where a program has them
// (os.Args, package flag), and ends the process where it fails. Another name is wrong usage.
func Run(suites map[string]func()) {
	program := filepath.Base(os.Args[0])
	if len(os.Args) < 2 || suites[os.Args[1]] == nil {
		names := strings.Join(slices.Sorted(maps.Keys(suites)), "|")
		fmt.Fprintf(os.Stderr, "usage: %s %s ...; see go doc ./integration/%s\n", program, names, program)
		os.Exit(2)
	}
	name := program + " " + os.Args[1]
	chosen := suites[os.Args[1]]
	os.Args = append([]string{name}, os.Args[2:]...)
	flag.CommandLine.Init(name, flag.ExitOnError)
	chosen()
}
