package real

import (
	"bytes"
	"debug/macho"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/plugins/compactunwind/table/objdumptest"
)

// result is the result of one image.
type result struct {
	regular, pages, entries, lsda int
	modes                         map[uint32]int
	differences, refused          int
	calls, same, other, unknown   int
	problems                      []string
}

// String is the image's cells of the table.
func (r *result) String() string {
	var modes []string
	for mode := range uint32(16) {
		if n := r.modes[mode]; n > 0 {
			modes = append(modes, fmt.Sprintf("%d: %d", mode, n))
		}
	}
	return fmt.Sprintf("%d (%d) | %d | %d | %s | %d | %d | %d | %d | %d | %d", r.pages, r.regular, r.entries, r.lsda,
		strings.Join(modes, ", "), r.differences, r.refused, r.calls, r.same, r.other, r.unknown)
}

// maxProblems bounds the report on one image.
const maxProblems = 14

func (r *result) problem(format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

func (r *result) differs(format string, args ...any) {
	r.differences++
	r.problem(format, args...)
}

// dump asks llvm-objdump.
func (im *image) dump(dir string) (d objdumptest.Dump, err error) {
	path := filepath.Join(dir, "image")
	if err := os.WriteFile(path, im.data, 0o600); err != nil {
		return d, err
	}
	defer os.Remove(path)
	var out bytes.Buffer
	cmd := exec.Command("llvm-objdump-19", "--macho", "--unwind-info", path)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return d, fmt.Errorf("llvm-objdump: %w", err)
	}
	return objdumptest.Read(&out)
}

// section returns a section of __TEXT, and its offset from the Mach-O header.
func (im *image) section(name string) (data []byte, at uint64, err error) {
	var text *macho.Segment
	if text = im.file.Segment("__TEXT"); text == nil {
		return nil, 0, fmt.Errorf("no segment __TEXT")
	}
	s := im.file.Section(name)
	if s == nil {
		return nil, 0, nil
	}
	data, err = s.Data()
	return data, s.Addr - text.Addr, err
}

// check compares an image with llvm-objdump, and its rules with the code.
func (im *image) check(dir string) (*result, error) {
	d, err := im.dump(dir)
	if err != nil {
		return nil, err
	}
	r := &result{regular: d.Regular, pages: d.Regular + d.Compressed, entries: len(d.Runs), lsda: len(d.LSDA), modes: map[uint32]int{}}
	info, _, err := im.section("__unwind_info")
	if err != nil || info == nil {
		if len(d.Runs) > 0 {
			r.differs("no section, and %d entries", len(d.Runs))
		}
		return r, err
	}
	t, err := table.Parse(info)
	if err != nil {
		return nil, err
	}
	for _, p := range t.Problems() {
		r.differs("%v", p)
	}
	im.compare(r, t, &d)
	return r, im.simulate(r, t)
}

// compare compares the contents of the section.
func (im *image) compare(r *result, t *table.Table, d *objdumptest.Dump) {
	i := 0
	for e := range t.All() {
		if i >= len(d.Runs) || d.Runs[i] != (objdumptest.Run{Start: e.Start, End: e.End, Encoding: uint32(e.Encoding)}) {
			r.differs("entry %d: %x", i, e)
		}
		i++
		r.modes[uint32(e.Encoding)>>24&15]++
		for _, at := range []uint32{e.Start, e.End - 1} {
			if got, ok := t.Find(at); !ok || got != e {
				r.differs("at %#x: %x, %v; want %x", at, got, ok, e)
			}
		}
	}
	if i != len(d.Runs) {
		r.differs("%d entries, want %d", i, len(d.Runs))
	}
	if fmt.Sprint(t.Personalities()) != fmt.Sprint(d.Personalities) {
		r.differs("personalities %x, want %x", t.Personalities(), d.Personalities)
	}
	sort.Slice(d.LSDA, func(i, j int) bool { return d.LSDA[i].Function < d.LSDA[j].Function })
	for _, l := range d.LSDA {
		if got, ok := t.LSDA(l.Function); !ok || got.Data != l.Data {
			r.differs("language-specific data of %#x: %#x, %v; want %#x", l.Function, got.Data, ok, l.Data)
		}
	}
}
