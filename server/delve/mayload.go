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

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/elffile"
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

// mayLoad says why Delve must not open an image: what it would read of it, or of a file
// that it takes for its debug file, has no bound. That a file is missing or damaged in
// another way Delve finds out by itself.
func mayLoad(path string, folders []string) error {
	f, err := elffile.Open(path)
	if err != nil {
		return refused(path, err)
	}
	defer f.Close()
	if err := checkSections(f); err != nil {
		return &RefusedError{path, err}
	}
	if f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil {
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
	if err := checkSections(f); err != nil {
		return &RefusedError{path, err}
	}
	return nil
}

// checkSections says why a file's sections cost Delve too much.
func checkSections(f *elffile.File) error {
	if f.LeftOut != nil {
		return f.LeftOut
	}
	if err := checkFrames(f.File); err != nil {
		return err
	}
	return checkLines(f.File)
}

// maxFrameEntry bounds an entry of call-frame information, in bytes. Compilers write some
// hundred for the longest functions.
const maxFrameEntry = 64 << 10

// checkFrames looks for an entry of call-frame information that is too long: Delve keeps
// kilobytes for each state that one remembers, which takes one byte of it.
func checkFrames(f *elf.File) error {
	for _, name := range []string{".eh_frame", ".debug_frame", ".zdebug_frame"} {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue // Delve cannot read it either
		}
		for len(data) >= 4 {
			const long = 0xffffffff // a length of 64 bits follows (DWARF 5, section 7.4)
			size, rest := uint64(f.ByteOrder.Uint32(data)), data[4:]
			if size == long && len(rest) >= 8 {
				size, rest = f.ByteOrder.Uint64(rest), rest[8:]
			}
			if size > uint64(len(rest)) {
				break
			}
			if size > maxFrameEntry {
				return fmt.Errorf("%s has an entry of %d KiB", name, size>>10)
			}
			data = rest[size:]
		}
	}
	return nil
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
