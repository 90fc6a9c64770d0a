package procfs

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// Path is that of a file in a process's folder.
func Path(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// Status is the text of a process's or a thread's status file.
type Status string

// ReadStatus reads a process's status.
func ReadStatus(pid int) (Status, error) {
	text, err := os.ReadFile(Path(pid, "status"))
	return Status(text), err
}

// Field returns a field, "" if it is missing.
func (s Status) Field(name string) string {
	for line := range strings.Lines(string(s)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Number returns a field that is a number, 0 if it is not.
func (s Status) Number(name string) int {
	n, _ := strconv.Atoi(s.Field(name))
	return n
}

// Inside says how a process calls its threads, in namespaces of its own: a function from their
// IDs here, nil where both are the same.
func Inside(pid int) func(thread uint64) uint64 {
	status, _ := ReadStatus(pid) // what is wrong shows later
	if len(strings.Fields(status.Field("NSpid"))) < 2 {
		return nil
	}
	return func(thread uint64) uint64 {
		text, _ := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/status", thread)))
		ids := strings.Fields(Status(text).Field("NSpid"))
		if len(ids) == 0 {
			return 0 // it has ended
		}
		id, _ := strconv.ParseUint(ids[len(ids)-1], 10, 64)
		return id
	}
}

// ReadMaps reads the text of a process's mappings in large pieces: the kernel takes
// its time for each, however small.
func ReadMaps(pid int) ([]byte, error) {
	f, err := os.Open(Path(pid, "maps"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := bytes.NewBuffer(make([]byte, 0, 16<<10))
	_, err = text.ReadFrom(f)
	return text.Bytes(), err
}

// Maps reads a process's mappings.
func Maps(pid int) ([]imagemap.Mapping, error) {
	text, err := ReadMaps(pid)
	if err != nil {
		return nil, err
	}
	return imagemap.ParseMaps(bytes.NewReader(text))
}

// Permissions writes those of a segment of an ELF file as in mappings: "r-xp".
func Permissions(flags elf.ProgFlag) string {
	perm := []byte("---p")
	for i, flag := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		if flags&flag != 0 {
			perm[i] = "rwx"[i]
		}
	}
	return string(perm)
}

// Ranges lists the mappings with a permission.
func Ranges(maps []imagemap.Mapping, perm string) unwind.RangeSet {
	var out []unwind.Range
	for _, m := range maps {
		if strings.Contains(m.Perm, perm) {
			out = append(out, unwind.Range{Start: m.Start, End: m.End})
		}
	}
	return unwind.NewRangeSet(out...)
}

// ThreadName is a thread's name, "" if it has gone.
func ThreadName(pid int, thread uint64) string {
	text, _ := os.ReadFile(Path(pid, fmt.Sprintf("task/%d/comm", thread)))
	return strings.TrimSuffix(string(text), "\n")
}
