package codemap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/server/internal/jit"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Generated is what names the code that a process has generated, read anew at each
// stop as far as it has changed. The zero value knows nothing. It is not safe for
// concurrent use.
type Generated struct {
	perf      []jit.Symbol
	perfInfo  fs.FileInfo // of the file that perf was read from
	names     *jit.Names
	namesFrom []jit.Registered // the list that names was made with
}

// maxObjects bounds the bytes that are read of registered files at one stop.
const maxObjects = 64 << 20

// Read names the generated code of a process: by its perf map, if pid is not 0, and
// by the files that it has registered with GDB's interface, which know better. m is
// its code that was not generated.
func (g *Generated) Read(pid int, memory io.ReaderAt, m *Map) (*Map, error) {
	var failed error
	changed := false
	if pid != 0 {
		changed, failed = g.readPerfMap(pid)
	}
	registered, err := m.registered(memory)
	failed = errors.Join(failed, err)
	if changed || len(registered) > 0 || len(g.namesFrom) > 0 {
		symbols := g.perf[:len(g.perf):len(g.perf)]
		left := uint64(maxObjects)
		for _, r := range registered {
			if r.Size > left {
				failed = errors.Join(failed, fmt.Errorf("generated code: more than %d MiB are registered", maxObjects>>20))
				break
			}
			left -= r.Size
			object, err := jit.ReadObject(memory, r)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			symbols = append(symbols, object.Symbols...)
		}
		g.names, g.namesFrom = jit.NewNames(symbols), registered
	}
	return m.withNames(g.names), failed
}

// readPerfMap reads the process's perf map if it is another one than before.
func (g *Generated) readPerfMap(pid int) (changed bool, err error) {
	path, uid := perfMapOf(pid)
	f, err := jit.OpenRegular(path)
	if err != nil {
		changed = g.perf != nil
		g.perf, g.perfInfo = nil, nil
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return changed, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || sameContents(info, g.perfInfo) {
		return false, err
	}
	g.perf, g.perfInfo = nil, info
	// Anyone can write where perf maps are. perf has the same rule.
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && fmt.Sprint(st.Uid) != uid {
		return true, fmt.Errorf("%s is not the process's user's: it is not used", path)
	}
	g.perf, err = jit.ReadPerfMap(f)
	return true, err
}

// perfMapOf returns where a process writes its perf map, as the process sees the
// files and its own ID, and the user that it runs as.
func perfMapOf(pid int) (path, uid string) {
	root := procfs.Path(pid, "root")
	if _, err := os.Stat(root); err != nil {
		root = "/"
	}
	id := fmt.Sprint(pid)
	if status, err := procfs.ReadStatus(pid); err == nil {
		if ids := strings.Fields(status.Field("NStgid")); len(ids) > 0 {
			id = ids[len(ids)-1] // in the innermost namespace
		}
		if ids := strings.Fields(status.Field("Uid")); len(ids) > 1 {
			uid = ids[1] // the effective one
		}
	}
	return filepath.Join(root, "tmp", "perf-"+id+".map"), uid
}

// registered lists the files that the process has registered with GDB's interface, in
// any image.
func (m *Map) registered(memory io.ReaderAt) (out []jit.Registered, failed error) {
	layout := jit.Layout{Order: m.arch.ByteOrder(), WordSize: m.arch.PointerSize(), Packed: m.arch == unwind.I386}
	for _, img := range m.images {
		if img.file == nil {
			continue
		}
		vaddr, ok := img.file.Data(jit.DescriptorSymbol)
		if !ok {
			continue
		}
		list, err := jit.ReadDescriptor(memory, vaddr+img.bias, layout)
		out, failed = append(out, list...), errors.Join(failed, err)
	}
	return out, failed
}

// withNames is the map with names for code outside of images.
func (m *Map) withNames(names *jit.Names) *Map {
	if m.generated == names {
		return m
	}
	other := *m
	other.generated = names
	return &other
}
