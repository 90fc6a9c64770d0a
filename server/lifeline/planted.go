package lifeline

import (
	"bytes"
	"io"
	"os"
	"runtime"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// trap is the breakpoint instruction that the debugger writes.
var trap = map[string][]byte{
	"amd64": {0xcc},
	"arm64": {0x00, 0x00, 0x20, 0xd4}, // brk #0
}[runtime.GOARCH]

// findBreakpoints finds the breakpoints in a program's code: trap instructions in memory
// where its file has something else. It is for the moment in which the debugger
// plants its own (runtime.fatalpanic and the like), which lie in the Go program
// itself, not in its libraries.
func findBreakpoints(pid int, mem io.ReaderAt) (patches []Patch) {
	list, err := procfs.Maps(pid)
	if err != nil || len(trap) == 0 {
		return nil
	}
	path, err := os.Readlink(procfs.Path(pid, "exe"))
	if err != nil {
		return nil
	}
	file, err := os.Open(procfs.Path(pid, "exe")) // the one that runs, whatever lies at path now
	if err != nil {
		return nil
	}
	defer file.Close()
	for i := range list {
		if m := &list[i]; m.Path == path && m.Executable() {
			patches = append(patches, traps(mem, file, m)...)
		}
	}
	return patches
}

// traps compares one mapping with the file.
func traps(mem, file io.ReaderAt, m *imagemap.Mapping) (patches []Patch) {
	const chunk = 1 << 20 // a multiple of any trap's size, as mappings' bounds are
	got, want := make([]byte, chunk), make([]byte, chunk)
	for at := m.Start; at < m.End; at += chunk {
		size := int(min(chunk, m.End-at))
		if n, err := mem.ReadAt(got[:size], int64(at)); err != nil && n == 0 {
			continue
		}
		n, _ := file.ReadAt(want[:size], int64(m.Offset+at-m.Start)) // the last page is not full
		if bytes.Equal(got[:n], want[:n]) {
			continue
		}
		for i := 0; i+len(trap) <= n; i += len(trap) {
			here := want[i : i+len(trap)]
			if bytes.Equal(got[i:i+len(trap)], trap) && !bytes.Equal(here, trap) {
				patches = append(patches, Patch{Addr: at + uint64(i), Original: bytes.Clone(here), Written: trap})
			}
		}
	}
	return patches
}
