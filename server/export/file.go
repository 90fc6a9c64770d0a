package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFile makes the file at path what write writes. The file appears whole or
// not at all: the contents go to a new file in the same folder, which then takes
// its place. A file that is there keeps its permissions, a link its target.
//
// A path that is no regular file but can be written to (a terminal, a pipe, /dev/null) is
// written to directly: it cannot be replaced, and must not be.
func WriteFile(path string, write func(io.Writer) error) error {
	s, err := stage(path, write)
	if err == nil {
		err = s.commit()
	}
	return err
}

// staged is a file that is written, under another name than it will have.
type staged struct {
	path string // as the user named it
	real string // where it will be
	temp string // where it is; empty where it was written to directly
}

// stage writes the contents of a file, but not under its name yet.
func stage(path string, write func(io.Writer) error) (s staged, err error) {
	s = staged{path: path, real: path}
	mode := fs.FileMode(0)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		s.real = real
	}
	if info, err := os.Stat(s.real); err == nil {
		switch {
		case info.IsDir():
			return s, fmt.Errorf("write %s: it is a folder; name a file", path)
		case !info.Mode().IsRegular():
			return s, writeDirectly(path, write)
		}
		mode = info.Mode().Perm()
	}
	temp, f, err := createBeside(s.real)
	if err != nil {
		return s, writeError(path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // fails where it is closed already
			_ = os.Remove(temp)
			err = writeError(path, err)
		}
	}()
	if err = buffered(f, write); err != nil {
		return s, err
	}
	if mode != 0 {
		if err = f.Chmod(mode); err != nil {
			return s, err
		}
	}
	if err = f.Close(); err != nil {
		return s, err
	}
	s.temp = temp
	return s, nil
}

// commit renames the file to its name.
func (s *staged) commit() error {
	if s.temp == "" {
		return nil
	}
	if err := os.Rename(s.temp, s.real); err != nil {
		s.discard()
		return writeError(s.path, err)
	}
	s.temp = ""
	return nil
}

// discard removes a file that was not committed.
func (s *staged) discard() {
	if s.temp != "" {
		_ = os.Remove(s.temp)
		s.temp = ""
	}
}

func writeDirectly(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return writeError(path, err)
	}
	if err := errors.Join(buffered(f, write), f.Close()); err != nil {
		return writeError(path, err)
	}
	return nil
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// createBeside makes a new file in the folder of path. Unlike os.CreateTemp it
// leaves the permissions to the user's umask, as for any file the user makes.
func createBeside(path string) (string, *os.File, error) {
	var f *os.File
	temp, err := beside(path, func(temp string) (err error) {
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	return temp, f, err
}

// beside tries names in the folder of path until create finds one free.
func beside(path string, create func(temp string) error) (string, error) {
	dir, name := filepath.Split(filepath.Clean(path))
	// File names have at most 255 bytes.
	name = name[:min(len(name), 200)]
	for try := 0; ; try++ {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", name, rand.Uint32()))
		err := create(temp)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return temp, err
		}
	}
}

// writeError says that a path cannot be written, and why, without the names of
// temporary files in it.
func writeError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	} else if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = le.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w; make its folder first", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}
