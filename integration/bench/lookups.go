package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/server/symbols"
)

// largeLookups is how many addresses of the large library are looked up.
const largeLookups = 500

// repeats is how often other tools look each address up again.
const repeats = 20

// lookups measures what an address of the library costs when the file is open already.
func lookups(t *table, _ string) error {
	t.title = "Lookups in 262 MB of DWARF"
	debug, err := debugFileOf(largeLibrary)
	if err != nil {
		t.notes = append(t.notes, "Not measured: "+err.Error()+" (Debian: librados-dev, librados2-dbg)")
		return nil
	}
	f, err := symbols.OpenWithDebug(largeLibrary, symbols.DebugSearch{
		Known: largeLibrary, Beside: filepath.Dir(largeLibrary), Folders: symbols.DefaultDebugFolders,
	})
	if err != nil {
		return err
	}
	addrs := spread(f)
	notes := []string{fmt.Sprintf("%d addresses over all of the library's code, processor time for each, when the file is open: ", len(addrs))}
	pass := func(addrs []uint64) time.Duration {
		begin := ownCPU()
		for _, a := range addrs {
			f.Calls(a)
		}
		return ownCPU() - begin
	}
	pass(addrs[:1])
	first := pass(addrs[1:]) / time.Duration(len(addrs)-1)
	const rounds = 200
	again := pass(slices.Repeat(addrs, rounds)) / time.Duration(rounds*len(addrs))
	notes = append(notes, fmt.Sprintf("clew %s the first time, then %d ns", first.Round(time.Microsecond), again.Nanoseconds()))
	for _, tool := range [][]string{{"addr2line", "-fie", debug}, {"llvm-symbolizer-19", "--obj=" + debug}} {
		var cost [3]time.Duration
		for i, list := range [][]uint64{addrs[:1], addrs, slices.Repeat(addrs, 1+repeats)} {
			if cost[i], err = toolCPU(tool, list); err != nil {
				return err
			}
		}
		notes = append(notes, fmt.Sprintf("; %s %s the first time, then %s", tool[0],
			((cost[1]-cost[0])/time.Duration(len(addrs)-1)).Round(time.Microsecond), ((cost[2]-cost[1])/time.Duration(repeats*len(addrs))).Round(time.Microsecond)))
	}
	t.notes = append(t.notes, strings.Join(notes, "")+".")
	return nil
}

// spread lists addresses over all of the code.
func spread(f *symbols.File) (addrs []uint64) {
	size := uint64(0)
	for _, r := range f.CodeRanges() {
		size += r.End - r.Start
	}
	for _, r := range f.CodeRanges() {
		for a := r.Start; a < r.End; a += size / largeLookups {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// toolCPU is the processor time of a tool that looks addresses up.
func toolCPU(tool []string, addrs []uint64) (time.Duration, error) {
	cmd := exec.Command(tool[0], tool[1:]...)
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd.Stdin = &in
	if out, err := cmd.Output(); err != nil || len(out) == 0 {
		return 0, fmt.Errorf("%s: %w", tool[0], errors.Join(err, errors.New("no answer")))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
