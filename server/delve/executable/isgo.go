package executable

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/symbols/gotab"
)

// errNotGo says that a program is not Go's.
var errNotGo = errors.New("it is not a Go program (it has no table of Go functions, nor has a library that is loaded); clew debugs Go programs")

// hasGo says whether a process has Go code in its executable or in a library that it
// has loaded, as far as that can be found out.
func hasGo(pid int) bool {
	if err := checkGo(procfs.Path(pid, "exe")); !errors.Is(err, errNotGo) {
		return true // attaching reports any fault
	}
	maps, err := procfs.Maps(pid)
	if err != nil {
		return true
	}
	seen := map[string]bool{}
	for _, m := range maps {
		if seen[m.Path] || !strings.HasPrefix(m.Path, "/") || !strings.Contains(m.Perm, "x") {
			continue
		}
		seen[m.Path] = true
		found, err := HasGoTable(procfs.Path(pid, "root"+m.Path))
		if found || errors.Is(err, os.ErrNotExist) { // it was replaced: not known
			return true
		}
	}
	return false
}

// RefusedError says why Delve does not get an executable to read.
type RefusedError struct {
	Path string
	Err  error
}

// Error names the file and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s is not read: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// MayOpen says why Delve must not open an executable: it is no file, which Delve would wait for, its header is damaged, or
// it is a 32-bit program, which Delve takes for a 64-bit one. What else is wrong is for Delve to say.
func MayOpen(executable string) error {
	f, err := elffile.Open(executable)
	if errors.Is(err, elffile.ErrNotRegular) || errors.As(err, new(*elffile.HeaderError)) {
		return &RefusedError{executable, err}
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	if f.Class == elf.ELFCLASS32 {
		return &RefusedError{executable, fmt.Errorf("it is a 32-bit program, for %s", strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_")))}
	}
	return nil
}

// CheckLaunch refuses what can never have Go code before it is started: Delve would
// find out late, and say more than a line. A program that links libraries at run time
// may get Go with one.
func CheckLaunch(path string) error {
	if err := MayOpen(path); err != nil {
		return err
	}
	err := checkGo(path)
	if !errors.Is(err, errNotGo) {
		return err
	}
	if f, openErr := elffile.Open(path); openErr == nil {
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return nil
			}
		}
	}
	return err
}

// checkGo says that a file cannot be executed, or is no Go program.
func checkGo(path string) error {
	found, err := HasGoTable(path)
	if err == nil && !found {
		return errNotGo
	}
	return err
}

// goTable says whether an executable or library has a table of Go functions. Even
// stripped ones have theirs.
func HasGoTable(path string) (bool, error) {
	f, err := elffile.Open(path)
	if err != nil {
		// A file shorter than an ELF header ends early.
		if errors.As(err, new(*elf.FormatError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, fmt.Errorf("it is not an executable (%w)", err)
		}
		return false, err
	}
	defer f.Close()
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if f.Section(name) != nil {
			return true, nil
		}
	}
	return unnamedTable(f.File), nil
}

// unnamedTable says whether the table is where GNU ld puts that of a position-independent cgo
// program of Go before 1.26: in a section with other data.
func unnamedTable(f *elf.File) bool {
	s := f.Section(".data.rel.ro")
	if s == nil || s.Type != elf.SHT_PROGBITS {
		return false
	}
	data, err := s.Data()
	if err != nil {
		return false
	}
	table, _ := gotab.Find(data, 0, f.ByteOrder)
	return table != nil
}

// packedByUPX says whether a file begins as UPX makes them: its mark is behind the
// program headers.
func packedByUPX(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte("UPX!"))
}
