package imagemap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type Mapping struct {
	// Start and End are the addresses of the mapping, End excluded.
	Start, End uint64
	// Perm is four letters, "r-xp".
	Perm string
	// Offset is where the mapping begins in its file, in bytes.
	Offset uint64
	// Dev and Inode name the file; both are zero for memory without a file.
	Dev   Device
	Inode uint64
	// Path is the file's path, with the kernel's " (deleted)" where the file
	// has no name any more; a pseudo-path like "[stack]"; or empty.
	Path string
}

// Device is a device number as the kernel shows it.
type Device struct{ Major, Minor uint32 }

// Executable reports whether code can run in the mapping.
func (m *Mapping) Executable() bool { return strings.Contains(m.Perm, "x") }

// MapsError is a line of a maps file that cannot be read.
type MapsError struct {
	Line int // from 1
	Err  error
}

func (e *MapsError) Error() string { return fmt.Sprintf("imagemap: maps line %d: %v", e.Line, e.Err) }

// Unwrap is the reason.
func (e *MapsError) Unwrap() error { return e.Err }

var errMapsLine = errors.New("not of the form START-END PERM OFFSET MAJOR:MINOR INODE [PATH]")

// ParseMaps reads the text of a /proc/PID/maps file. It fails with a
// [*MapsError], or with the error of the reader.
func ParseMaps(r io.Reader) ([]Mapping, error) {
	var maps []Mapping
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20) // a path has 4096 bytes at most, each up to 4 when escaped
	line := 0
	for s.Scan() {
		line++
		m, err := parseMapping(s.Text())
		if err != nil {
			return nil, &MapsError{Line: line, Err: err}
		}
		maps = append(maps, m)
	}
	if err := s.Err(); err != nil {
		return nil, &MapsError{Line: line + 1, Err: err}
	}
	return maps, nil
}

func parseMapping(line string) (Mapping, error) {
	var fields [5]string
	rest := line
	for i := range fields {
		fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	start, end, dash := strings.Cut(fields[0], "-")
	major, minor, colon := strings.Cut(fields[3], ":")
	if !dash || !colon || len(fields[1]) != 4 {
		return Mapping{}, errMapsLine
	}
	var err error
	number := func(s string, base, size int) uint64 {
		v, e := strconv.ParseUint(s, base, size)
		err = errors.Join(err, e)
		return v
	}
	m := Mapping{
		Start:  number(start, 16, 64),
		End:    number(end, 16, 64),
		Perm:   fields[1],
		Offset: number(fields[2], 16, 64),
		Dev:    Device{uint32(number(major, 16, 32)), uint32(number(minor, 16, 32))},
		Inode:  number(fields[4], 10, 64),
		// The kernel escapes the newline, and nothing else.
		Path: strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n"),
	}
	if err != nil {
		return Mapping{}, err
	}
	if m.End <= m.Start {
		return Mapping{}, fmt.Errorf("mapping [%#x, %#x) is empty", m.Start, m.End)
	}
	return m, nil
}
