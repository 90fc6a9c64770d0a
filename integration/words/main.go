// Command words compares what clew calls code addresses with what other tools call
// them, and measures what it costs.
//
//	go run ./integration/words [-n 600] corpus [PART OF A NAME...]
//	go run ./integration/words [-n 600] compare FILE...
//	go run ./integration/words cost FILE ADDRESS...
//	go run ./integration/words demangle FILE...
//	go run ./integration/words [-n 600] rate FILE...
//
// compare asks clew, llvm-symbolizer and gdb for addresses over all of .text and
// compares the chains whole: depth, names, files, lines and columns with LLVM's, depth,
// names and the innermost place with GDB's. Differences that are known are counted
// apart: LLVM takes the outermost name from symbols before DWARF's, and leaves out the
// scopes of functions that the linker has no name for; GDB's innermost line is that of
// the last row that is a statement, or of a row before where there is no line. FILE is
// a program or library, or TEXT=DEBUG where the debugging information is in a file of
// its own. Exit code 1 is any other difference.
//
// corpus builds the programs in testdata with every compiler and in every form of
// debugging information that it knows, and compares each. TestCorpus compares some of
// them.
//
// cost looks the addresses up with clew, debug/dwarf, addr2line and llvm-symbolizer,
// each in a process of its own, and prints CPU time and peak memory; and for clew what
// a lookup takes once the first is done.
//
// demangle compares the names of the files' symbols with llvm-cxxfilt's, and counts the
// differences by kind.
//
// rate measures clew beside llvm-symbolizer with n addresses over all of .text.
//
// The tables are those of docs/names.md. compare takes a minute for a large library, corpus some minutes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/symbols"
)

func main() {
	n := flag.Int("n", 600, "addresses of each file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: words [-n N] corpus [PART...] | words [-n N] compare FILE... | words cost FILE ADDRESS... | words demangle FILE... | words [-n N] rate FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	run := map[string]func([]string) error{
		"corpus": func(parts []string) error {
			return compareCorpus(func(b *build) bool { return hasAny(b.name, parts) }, *n, sayLine)
		},
		"compare":  func(files []string) error { return compareAll(files, *n) },
		"cost":     cost,
		"demangle": demangleAll,
		childClew:  lookUp,
		"rate":     func(files []string) error { return rate(files, *n) },
		childRate:  lookUpAll,
		childGo:    lookUpGo,
	}[flag.Arg(0)]
	if run == nil || flag.NArg() < 2 && flag.Arg(0) != "corpus" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// hasAny says whether a name has any of the parts, or there are none.
func hasAny(name string, parts []string) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

func sayLine(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// open opens a file with its debugging information, as clew does.
func open(path string) (*symbols.File, error) {
	return symbols.OpenWithDebug(path, symbols.DebugSearch{
		Known: path, Beside: filepath.Dir(path), Folders: symbols.DefaultDebugFolders,
	})
}
