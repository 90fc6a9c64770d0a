package interpose

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/executable"
)

// Delve gets the libraries that hold Go code, and no others: native code is clew's, and Delve would read
// every library and its debug file whole, without a limit. While the program runs and stops,
// the runner hides from Delve where the dynamic loader's list is, and then adds the
// libraries of the list that hold Go in Delve's place. So it is after Delve has attached (hiddenlist.go).
// Core files need nothing: Delve reads the executable alone.

// hideLibraries keeps Delve from reading the loader's list. show ends that.
func (r *Runner) hideLibraries() (show func()) {
	hidden := make(map[*proc.BinaryInfo]uint64)
	for _, t := range r.group.Targets() {
		bi := t.BinInfo()
		if bi.GOOS == "linux" {
			hidden[bi], bi.ElfDynamicSection.Addr = bi.ElfDynamicSection.Addr, 0
		}
	}
	return func() {
		for bi, addr := range hidden {
			bi.ElfDynamicSection.Addr = addr
		}
	}
}

// addLibraries adds the libraries with Go code that have been loaded.
func (r *Runner) addLibraries() error {
	for _, t := range r.group.Targets() {
		bi := t.BinInfo()
		if valid, _ := t.Valid(); !valid || bi.GOOS != "linux" || bi.ElfDynamicSection.Addr == 0 {
			continue
		}
		list, err := loadedLibraries(t.Memory(), bi)
		if err != nil {
			return err
		}
		for _, l := range list {
			if r.holdsGo(l.path) {
				addImage(bi, l)
			}
		}
	}
	return nil
}

// addImage has Delve read a library. One that it cannot read has its own error; a panic costs that library only.
func addImage(bi *proc.BinaryInfo, l library) {
	defer func() {
		if r := recover(); r != nil {
			delvelog.DAPError("Delve cannot read %s: %v", l.path, r)
		}
	}()
	noteGuard(life.Load().Reads(l.path))
	_ = bi.AddImage(l.path, l.bias)
}

// holdsGo says whether a library has a table of Go functions. The answer is remembered; not so for a file that cannot be
// read now.
func (r *Runner) holdsGo(path string) bool {
	holds, known := r.goLibraries[path]
	if known {
		return holds
	}
	holds, err := executable.HasGoTable(path)
	if err == nil {
		if r.goLibraries == nil {
			r.goLibraries = make(map[string]bool)
		}
		r.goLibraries[path] = holds
	}
	return holds
}

// library is an entry of the dynamic loader's list.
type library struct {
	path string
	bias uint64
}

// Bounds on the loader's list, which the program can overwrite.
const (
	maxLibraries = 1 << 14
	maxDynamic   = 1 << 16 // bytes of .dynamic
	maxPath      = 4096    // bytes, PATH_MAX
)

var errLibraries = errors.New("the list of libraries is too long, or has no end")

// loadedLibraries reads the list (glibc, elf/link.h: r_debug, link_map). Its first entry
// is the program, and is left out.
func loadedLibraries(mem proc.MemoryReader, bi *proc.BinaryInfo) (list []library, err error) {
	word := bi.Arch.PtrSize()
	debug, err := debugStructure(mem, bi, word)
	if err != nil || debug == 0 {
		return nil, err
	}
	head, err := readWords(mem, debug, word, 2) // version, link_map
	if err != nil {
		return nil, err
	}
	for at, n := head[1], 0; at != 0; n++ {
		if n == maxLibraries {
			return nil, errLibraries
		}
		entry, err := readWords(mem, at, word, 4) // bias, name, .dynamic, next
		if err != nil {
			return nil, err
		}
		path, err := readPath(mem, entry[1])
		if err != nil {
			return nil, err
		}
		if n > 0 || entry[0] != 0 {
			list = append(list, library{path, entry[0]})
		}
		at = entry[3]
	}
	return list, nil
}

// debugStructure finds the loader's structure for debuggers by the program's .dynamic; 0: it is not
// there yet.
func debugStructure(mem proc.MemoryReader, bi *proc.BinaryInfo, word int) (uint64, error) {
	const null, debug = 0, 21 // DT_NULL, DT_DEBUG
	size := min(bi.ElfDynamicSection.Size, maxDynamic)
	dynamic, err := readWords(mem, bi.ElfDynamicSection.Addr, word, int(size)/word)
	if err != nil {
		return 0, err
	}
	for ; len(dynamic) >= 2 && dynamic[0] != null; dynamic = dynamic[2:] {
		if dynamic[0] == debug {
			return dynamic[1], nil
		}
	}
	return 0, nil
}

// readWords reads n words.
func readWords(mem proc.MemoryReader, addr uint64, word, n int) ([]uint64, error) {
	raw := make([]byte, n*word)
	if _, err := mem.ReadMemory(raw, addr); err != nil {
		return nil, fmt.Errorf("list of libraries: %w", err)
	}
	out := make([]uint64, n)
	for i := range out {
		if word == 4 {
			out[i] = uint64(binary.LittleEndian.Uint32(raw[i*word:]))
		} else {
			out[i] = binary.LittleEndian.Uint64(raw[i*word:])
		}
	}
	return out, nil
}

// readPath reads a string that ends with a zero byte.
func readPath(mem proc.MemoryReader, addr uint64) (string, error) {
	const step = 128 // divides a page: what is behind it may not be there
	var out []byte
	for addr != 0 && len(out) < maxPath {
		part := make([]byte, step-addr%step)
		if _, err := mem.ReadMemory(part, addr); err != nil {
			return "", fmt.Errorf("list of libraries: %w", err)
		}
		if before, _, ok := bytes.Cut(part, []byte{0}); ok {
			return string(append(out, before...)), nil
		}
		out, addr = append(out, part...), addr+uint64(len(part))
	}
	if addr != 0 {
		return "", errLibraries
	}
	return "", nil
}
