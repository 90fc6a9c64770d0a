// Command words compares what clew calls code addresses with what other tools call
// them, and measures what it costs.
//
//	go run ./integration/words [-n 2000] compare FILE...
//	go run ./integration/words cost FILE ADDRESS...
//
// compare asks clew and llvm-symbolizer for addresses over all of .text and
// compares the chains whole: depth, names, files and lines. Differences that are known
// are counted apart: LLVM takes the outermost name from symbols before DWARF's. FILE
// is a program or library, or TEXT=DEBUG where the debugging information is in a file
// of its own. Exit code 1 is any other difference.
//
// cost looks the addresses up with clew, debug/dwarf, addr2line and llvm-symbolizer,
// each in a process of its own, and prints CPU time and peak memory; and for clew what
// a lookup takes once the first is done.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/server/symbols"
)

func main() {
	n := flag.Int("n", 2000, "addresses of each file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: words [-n N] compare FILE... | words cost FILE ADDRESS...")
		flag.PrintDefaults()
	}
	flag.Parse()
	run := map[string]func([]string) error{
		"compare": func(files []string) error { return compareAll(files, *n) },
		"cost":    cost,
		childClew: lookUp,
		childGo:   lookUpGo,
	}[flag.Arg(0)]
	if run == nil || flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// open opens a file with its debugging information, as clew does.
func open(path string) (*symbols.File, error) {
	return symbols.OpenWithDebug(path, symbols.DebugSearch{
		Known: path, Beside: filepath.Dir(path), Folders: symbols.DefaultDebugFolders,
	})
}
