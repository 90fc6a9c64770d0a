package starts

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/symbols"
)

// score counts starts.
type score struct{ found, right, all int }

func (s score) String() string {
	return fmt.Sprintf("%6.2f/%6.2f", percent(s.right, s.found), percent(s.right, s.all))
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func (s *score) add(o score) {
	s.found, s.right, s.all = s.found+o.found, s.right+o.right, s.all+o.all
}

// row is one file's result.
type row struct {
	name          string
	model, frames score
	calls         score // by objdump
	took          time.Duration
	code          uint64
	heights       heights
}

const header = "precision/recall in %    functions          model       .eh_frame  objdump's calls       time   code"

func (r row) String() string {
	out := fmt.Sprintf("%-24s %9d  %v  %v    %v  %9v  %dK", r.name, r.model.all, r.model, r.frames, r.calls, r.took.Round(time.Millisecond), r.code>>10)
	if r.heights.all > 0 {
		out += "  " + r.heights.String()
	}
	return out
}

func (r *row) add(o *row) {
	r.model.add(o.model)
	r.frames.add(o.frames)
	r.calls.add(o.calls)
	r.took += o.took
	r.code += o.code
	r.heights.add(&o.heights)
}

// compare finds the starts of a stripped file and compares them with the symbols.
func compare(s sample, withHeights, verbose bool) (row, error) {
	r := row{name: s.name}
	full, err := elf.Open(s.full)
	if err != nil {
		return r, err
	}
	defer full.Close()
	truth, err := functions(full)
	if err != nil {
		return r, err
	}
	stripped, err := symbols.Open(s.stripped)
	if err != nil {
		return r, err
	}
	model := stripped.Model()
	if model == nil {
		return r, fmt.Errorf("no model")
	}
	begin := time.Now()
	starts := model.Starts()
	r.took = time.Since(begin)
	got := make(map[uint64]codemodel.Start)
	for _, start := range starts {
		if !start.Part && truth.covers(start.Addr) {
			got[start.Addr] = start
		}
	}
	r.model = truth.score(slices.Collect(maps.Keys(got)))
	r.code = truth.size
	frames, err := fdeStarts(full)
	if err != nil {
		return r, err
	}
	r.frames = truth.score(frames)
	calls, err := callTargets(s.stripped)
	if err != nil {
		return r, err
	}
	r.calls = truth.score(calls)
	if verbose {
		truth.list(got)
	}
	if withHeights {
		r.heights, err = compareHeights(full, model, verbose)
	}
	return r, err
}

// truths are the functions of a file by its symbols.
type truths struct {
	names map[uint64]string
	parts map[uint64]bool // where something else begins
	code  []*elf.Section
	size  uint64
}

func functions(f *elf.File) (*truths, error) {
	all, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	t := &truths{names: make(map[uint64]string), parts: make(map[uint64]bool)}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_PROGBITS && !strings.HasPrefix(s.Name, ".plt") {
			t.code = append(t.code, s)
			t.size += s.Size
		}
	}
	for _, s := range all {
		kind := elf.ST_TYPE(s.Info)
		if !t.covers(s.Value) || s.Section == elf.SHN_UNDEF {
			continue
		}
		switch {
		case strings.Contains(s.Name, ".cold"):
			t.parts[s.Value] = true
		case kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC || kind == elf.STT_NOTYPE && elf.ST_BIND(s.Info) != elf.STB_LOCAL:
			t.names[s.Value] = s.Name
		}
	}
	if len(all) > 0 {
		return t, nil
	}
	starts, err := fdeStarts(f) // there is nothing better
	for _, addr := range starts {
		if t.covers(addr) {
			t.names[addr] = "FDE"
		}
	}
	return t, err
}

// covers reports whether an address is in code that symbols tell of.
func (t *truths) covers(addr uint64) bool {
	return slices.ContainsFunc(t.code, func(s *elf.Section) bool { return addr >= s.Addr && addr-s.Addr < s.Size })
}

func (t *truths) score(found []uint64) (s score) {
	s.all = len(t.names)
	for _, addr := range found {
		if !t.covers(addr) {
			continue
		}
		s.found++
		if _, ok := t.names[addr]; ok {
			s.right++
		}
	}
	return s
}

// callTargets are where calls lead in objdump's listing of all code.
func callTargets(path string) (out []uint64, err error) {
	tool := "objdump"
	if f, err := elf.Open(path); err == nil {
		if f.Machine == elf.EM_AARCH64 {
			tool = "aarch64-linux-gnu-objdump"
		}
		f.Close()
	}
	text, err := exec.Command(tool, "-d", "--no-show-raw-insn", path).Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Fields(line)
		if len(parts) < 3 || parts[1] != "call" && parts[1] != "bl" {
			continue
		}
		if addr, err := strconv.ParseUint(parts[2], 16, 64); err == nil {
			out = append(out, addr)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// list prints what is false and what is missing.
func (t *truths) list(got map[uint64]codemodel.Start) {
	for _, addr := range slices.Sorted(maps.Keys(got)) {
		if _, ok := t.names[addr]; !ok {
			fmt.Printf("  false %#x: %v, part %v\n", addr, got[addr].Source, t.parts[addr])
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(t.names)) {
		if _, ok := got[addr]; !ok {
			fmt.Printf("  missing %#x %s\n", addr, t.names[addr])
		}
	}
}
