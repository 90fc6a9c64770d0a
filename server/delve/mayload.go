package delve

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/debuginfod"
)

// RefusedError says why Delve does not get a file to read.
type RefusedError struct {
	Path string
	Err  error
}

// Error names the file and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s is not read: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// MayOpen says why Delve must not open an executable, "" for none, or attach to a process, 0 for none: it would not
// survive a file of it. folders are where separate debug files are. What else is wrong is for Delve to say.
func MayOpen(executable string, pid int, folders []string) error {
	if executable != "" {
		if err := mayLoad(executable, folders); err != nil {
			return err
		}
	}
	if pid > 0 {
		return checkLoaded(pid, folders)
	}
	return nil
}

// mayLoad says why Delve must not open an image: what it would read of it, or of a file
// that it takes for its debug file, has no bound. That a file is missing or damaged in
// another way Delve finds out by itself.
func mayLoad(path string, folders []string) error {
	f, err := elffile.Open(path)
	if err != nil {
		return refused(path, err)
	}
	defer f.Close()
	if f.Class == elf.ELFCLASS32 { // Delve takes it for a 64-bit one of the machine's kind
		return &RefusedError{path, fmt.Errorf("it is a 32-bit program, for %s", strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_")))}
	}
	err = checkOnce(f)
	if err != nil && !errors.Is(err, errUnknownForm) {
		return &RefusedError{path, err}
	}
	if err == nil && (f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil) {
		return nil // it looks for no debug file
	}
	for _, debug := range debugFiles(path, f.File, folders) {
		if err := mayRead(debug); err != nil {
			return err
		}
	}
	return nil
}

// mayRead says why Delve must not read a debug file, which it reads whole.
func mayRead(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // it is not there
	}
	if !info.Mode().IsRegular() {
		return &RefusedError{path, elffile.ErrNotRegular}
	}
	if err := elffile.CheckWhole(info); err != nil {
		return &RefusedError{path, err}
	}
	f, err := elffile.Open(path)
	if err != nil {
		return refused(path, err)
	}
	defer f.Close()
	if err := checkOnce(f); err != nil && !errors.Is(err, errUnknownForm) {
		return &RefusedError{path, err}
	}
	return nil
}

// checkSections says why a file's sections cost Delve too much.
func checkSections(f *elffile.File) error {
	if f.LeftOut != nil {
		return f.LeftOut
	}
	info := make(chan infoSections, 1)
	go func() { info <- readInfo(f.File, elffile.Stored(f.Info)) }() // its decompression takes longest
	for _, check := range []func(*elf.File) error{checkSizes, checkFrames} {
		if err := check(f.File); err != nil {
			return err
		}
	}
	tables, size, err := checkLines(f.File)
	if err != nil || tables == nil {
		return err // without line tables Delve reads no debugging information
	}
	return checkInfo(<-info, tables, size)
}

// maxFrameEntry bounds an entry of call-frame information, in bytes. Compilers write some
// hundred for the longest functions.
const maxFrameEntry = 64 << 10

// checkFrames looks for call-frame information that Delve does not survive, in the sections that it reads
// (pkg/proc/bininfo.go, parseDebugFrameElf).
func checkFrames(f *elf.File) error {
	if data, err := godwarf.GetDebugSectionElf(f, "frame"); err == nil {
		if err := checkEntries(f, ".debug_frame", data, 0); err != nil {
			return err
		}
	}
	s := f.Section(".eh_frame")
	if s == nil {
		return nil
	}
	if s.Type == elf.SHT_NOBITS { // as in a separate debug file; Delve allocates what it claims
		if s.Size > maxFramesLeftOut {
			return fmt.Errorf(".eh_frame, which is left out, claims %d MiB", s.Size>>20)
		}
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil // Delve cannot read it either
	}
	return checkEntries(f, s.Name, data, s.Addr)
}

// maxFramesLeftOut bounds a section without contents, in bytes. The largest programs have some ten million.
const maxFramesLeftOut = 256 << 20

// checkEntries looks for an entry that is too long: Delve keeps kilobytes for each state that one
// remembers, which takes one byte of it. Then it has Delve's own code read the entries: where that panics, Delve would in a
// goroutine, and end with the whole process. Their instructions are looked at, see checkPrograms.
func checkEntries(f *elf.File, name string, data []byte, addr uint64) error {
	for rest := data; len(rest) >= 4; {
		const long = 0xffffffff // a length of 64 bits follows (DWARF 5, section 7.4)
		size, entry := uint64(f.ByteOrder.Uint32(rest)), rest[4:]
		if size == long && len(entry) >= 8 {
			size, entry = f.ByteOrder.Uint64(entry), entry[8:]
		}
		if size > uint64(len(entry)) {
			break
		}
		if size > maxFrameEntry {
			return fmt.Errorf("%s has an entry of %d KiB", name, size>>10)
		}
		rest = entry[size:]
	}
	if err := executable(f, data, addr); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// executable reads entries as Delve does, and says whether Delve survives them.
func executable(f *elf.File, data []byte, addr uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged (%v)", r)
		}
	}()
	entries, err := frame.Parse(data, f.ByteOrder, 0, 8, addr)
	if err != nil {
		return nil // Delve takes it itself
	}
	return checkPrograms(entries)
}

// refused returns an error if the reason why a file was not opened is a bound, and not one that
// Delve would find too.
func refused(path string, err error) error {
	if errors.Is(err, elffile.ErrNotRegular) || errors.As(err, new(*elffile.HeaderError)) {
		return &RefusedError{path, err}
	}
	return nil
}

// debugFiles lists where Delve looks for a debug file (pkg/proc/bininfo.go,
// openSeparateDebugInfo).
func debugFiles(path string, f *elf.File, folders []string) (out []string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(path, "/proc") {
		real = path
	}
	dir, link := filepath.Dir(real), debugLink(f)
	if link != "" {
		out = append(out, filepath.Join(dir, link), filepath.Join(dir, ".debug", link))
	}
	id := buildIDOf(path)
	for _, folder := range folders {
		if link != "" {
			out = append(out, filepath.Join(folder, dir, link))
		}
		if len(id) > 2 {
			out = append(out, filepath.Join(folder, ".build-id", id[:2], id[2:]+".debug"), filepath.Join(folder, id[:2], id[2:]+".debug"))
		}
		out = append(out, filepath.Join(folder, filepath.Base(real)+".debug"))
	}
	if config, err := debuginfod.FromEnvironment(os.Getenv); err == nil && id != "" { // Delve asks elfutils' client, which has the same cache
		out = append(out, filepath.Join(config.Cache, id, "debuginfo"))
	}
	return out
}

// debugLink is the name in .gnu_debuglink, "" if there is none.
func debugLink(f *elf.File) string {
	s := f.Section(".gnu_debuglink")
	if s == nil {
		return ""
	}
	data, err := s.Data()
	if err != nil {
		return ""
	}
	name, _, _ := bytes.Cut(data, []byte{0})
	return string(name)
}

func buildIDOf(path string) string {
	file, _, err := elffile.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	id, _ := imagemap.ReadBuildID(file)
	return hex.EncodeToString(id)
}

// checkLoaded is [mayLoad] for what a process has loaded.
func checkLoaded(pid int, folders []string) error {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil // attaching says what is wrong
	}
	maps, err := imagemap.ParseMaps(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range maps {
		if seen[m.Path] || !fs.ValidPath(strings.TrimPrefix(m.Path, "/")) || !strings.Contains(m.Perm, "x") {
			continue
		}
		seen[m.Path] = true
		if err := mayLoad(m.Path, folders); err != nil {
			return err
		}
	}
	return nil
}
