// Command bench measures reading SFrame beside libsframe, in one run, on the
// tables of sqlite:
//
//	go run ./internal/unwind/sframetest/bench TOOLCHAINS
//
// TOOLCHAINS is the folder that fetch-toolchains.sh wrote; where there is no such
// folder, it is fetched first. Needs gcc, and a module proxy for sqlite's source,
// which comes with a Go module. It prints, for libsframe and for package sframe,
// how long it takes to open the section, to look an address up and to read all
// rows in order, and the ratios: the best of 200 rounds of each. The exit status
// is 1 where one is over its bound.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
)

// sqlite is the module that has the source of sqlite in one file.
const (
	sqlite       = "github.com/mattn/go-sqlite3@v1.14.22"
	sqliteSource = "sqlite3-binding.c"
)

// A round looks up so many addresses: it has to fit between two interruptions on a
// machine that has others to serve, of which the best round then shows nothing.
const lookups = 10_000

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench TOOLCHAINS")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(toolchains string) error {
	if _, err := os.Stat(toolchains); os.IsNotExist(err) {
		if err := command("sh", "internal/unwind/sframetest/fetch-toolchains.sh", toolchains); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "clew-sframe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	section, opts, err := build(dir, filepath.Join(toolchains, "v3"))
	if err != nil {
		return err
	}
	ours, addresses := measure(section, opts)
	theirs, err := measureC(dir, section, addresses)
	if err != nil {
		return err
	}
	again, _ := measure(section, opts) // the better of before and behind: the machine may have others to serve
	ours.open, ours.lookup, ours.walk = min(ours.open, again.open), min(ours.lookup, again.lookup), min(ours.walk, again.walk)
	table := sframe.New(section, opts)
	fmt.Printf("%d bytes, %d functions, %d rows\n", len(section.Data), table.Len(), ours.rows)
	if theirs.rows != ours.rows || theirs.found != ours.found {
		return fmt.Errorf("libsframe has %d rows and finds %d addresses, package sframe %d and %d", theirs.rows, theirs.found, ours.rows, ours.found)
	}
	perFunction := theirs.lookup * float64(table.Len())
	fmt.Println("| | libsframe | package sframe | ratio | bound |")
	fmt.Println("|---|---|---|---|---|")
	var broken []string
	line := func(what, format string, theirs, ours, bound float64) {
		bounds := ""
		if bound > 0 {
			bounds = fmt.Sprintf("<= %.1f x", bound)
		}
		if bound > 0 && ours > bound*theirs {
			broken = append(broken, what)
		}
		fmt.Printf("| %s | "+format+" | "+format+" | %.2f x | %s |\n", what, theirs, ours, ours/theirs, bounds)
	}
	line("open (ours checks every row)", "%.0f us", theirs.open/1e3, ours.open/1e3, 0)
	line("open, and look up every function once", "%.0f us", (theirs.open+perFunction)/1e3, (ours.open+ours.lookup*float64(table.Len()))/1e3, 1)
	line("look an address up", "%.0f ns", theirs.lookup, ours.lookup, 0.4)
	line("read all rows in order", "%.0f us", theirs.walk/1e3, ours.walk/1e3, 0.2)
	if len(broken) > 0 {
		return fmt.Errorf("over its bound: %s", strings.Join(broken, "; "))
	}
	return nil
}

// build builds sqlite and returns its section.
func build(dir, toolchain string) (s sframe.Section, opts sframe.Options, err error) {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module bench\n"), 0o600); err != nil {
		return s, opts, err
	}
	download := exec.Command("go", "mod", "download", "-json", sqlite)
	download.Dir = dir
	out, err := download.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		return s, opts, fmt.Errorf("%s: %w", sqlite, err)
	}
	library := filepath.Join(dir, "libsqlite.so")
	if err := command("gcc", "-B", filepath.Join(toolchain, "amd64")+"/", "-O2", "-w", "-Wa,--gsframe", "-shared", "-fPIC",
		"-o", library, filepath.Join(module.Dir, sqliteSource)); err != nil {
		return s, opts, err
	}
	if err := command("gcc", "-O2", "-o", filepath.Join(dir, "libsframe"), "-I", filepath.Join(toolchain, "tree/usr/include"),
		"internal/unwind/sframetest/testdata/libsframe.c", filepath.Join(toolchain, "tree/usr/lib/x86_64-linux-gnu/libsframe.a")); err != nil {
		return s, opts, err
	}
	return sframetest.Load(library)
}

func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// measured are the best times of several rounds, in nanoseconds.
type measured struct {
	open, lookup, walk float64
	found, rows        int
}

const rounds = 200

func best(to *float64, f func()) {
	start := time.Now()
	f()
	if took := float64(time.Since(start).Nanoseconds()); *to == 0 || took < *to {
		*to = took
	}
}

// measure measures package sframe, and returns the addresses that it looked up.
func measure(section sframe.Section, opts sframe.Options) (m measured, addresses []uint64) {
	var table *sframe.Table
	for range rounds {
		runtime.GC()
		best(&m.open, func() { table = sframe.New(section, opts) })
		if addresses == nil {
			addresses = choose(table)
		}
		m.found, m.rows = 0, 0
		best(&m.lookup, func() {
			for _, at := range addresses {
				if _, answer := table.Lookup(at); answer != sframe.Hole {
					m.found++
				}
			}
		})
		best(&m.walk, func() { m.rows = walk(table) })
	}
	m.lookup /= float64(len(addresses))
	m.rows -= repeated(table)
	return m, addresses
}

// walk reads every row, those of repeated code for every block.
func walk(table *sframe.Table) (rows int) {
	for range table.AllRows() {
		rows++
	}
	return rows
}

// repeated is how many rows there are for a walk that the section does not have.
func repeated(table *sframe.Table) (rows int) {
	for f := range table.All() {
		if f.Block != 0 {
			rows += int(f.Rows) * (int(f.End-f.Start)/int(f.Block) - 1)
		}
	}
	return rows
}

// choose takes addresses at random of all code.
func choose(table *sframe.Table) []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	var functions []sframe.Function
	for f := range table.All() {
		functions = append(functions, f)
	}
	addresses := make([]uint64, lookups)
	for i := range addresses {
		f := functions[random.IntN(len(functions))]
		addresses[i] = f.Start + random.Uint64N(f.End-f.Start)
	}
	return addresses
}

// measureC measures libsframe.
func measureC(dir string, section sframe.Section, addresses []uint64) (m measured, err error) {
	var relative []byte
	for _, at := range addresses {
		relative = binary.LittleEndian.AppendUint64(relative, at-section.Addr)
	}
	sectionFile, addressFile := filepath.Join(dir, "section"), filepath.Join(dir, "addresses")
	if err := os.WriteFile(sectionFile, section.Data, 0o600); err != nil {
		return m, err
	}
	if err := os.WriteFile(addressFile, relative, 0o600); err != nil {
		return m, err
	}
	out, err := exec.Command(filepath.Join(dir, "libsframe"), sectionFile, addressFile).Output()
	if err != nil {
		return m, fmt.Errorf("libsframe: %w", err)
	}
	_, err = fmt.Sscan(string(out), &m.open, &m.lookup, &m.walk, &m.found, &m.rows)
	return m, err
}
