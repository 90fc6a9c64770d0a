package codemap

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/jit"
)

// perfMap is what a process's perf map said when it was read last.
type perfMap struct {
	symbols []jit.Symbol
	info    fs.FileInfo // of the file
}

// read reads the map if it is another one than before.
func (p *perfMap) read(self *process) (changed bool, err error) {
	path := "/tmp/perf-" + self.id + ".map"
	f, info, err := self.reopen(path, p.info)
	if f == nil {
		changed = p.info != nil && info == nil
		if changed || err != nil {
			*p = perfMap{}
		}
		return changed, err
	}
	defer f.Close()
	*p = perfMap{info: info}
	// Anyone can write where perf maps are. perf has the same rule.
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && fmt.Sprint(st.Uid) != self.uid {
		return true, fmt.Errorf("%s is not the process's user's: it is not used", path)
	}
	p.symbols, err = jit.ReadPerfMap(f)
	return true, err
}

// jitDump is what a process's jitdump said when it was read last.
type jitDump struct {
	code    []jit.Code
	symbols []jit.Symbol
	info    fs.FileInfo // of the file
	path    string
}

// read reads the dump if it is another one than before. Its writer maps it executable,
// which is how perf learns of it (jitdump-specification.txt).
func (d *jitDump) read(self *process, maps []imagemap.Mapping) (changed bool, err error) {
	path := self.dump(maps)
	if path == "" {
		changed = d.info != nil
		*d = jitDump{}
		return changed, nil
	}
	f, info, err := self.reopen(path, d.info)
	if f == nil {
		changed = d.info != nil && info == nil
		if changed || err != nil {
			*d = jitDump{}
		}
		return changed, err
	}
	defer f.Close()
	*d = jitDump{info: info, path: path}
	dump, err := jit.ReadDump(f)
	if dump == nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	if fmt.Sprint(dump.PID) != self.id {
		return true, fmt.Errorf("%s is of process %d: it is not used", path, dump.PID)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	d.code, d.symbols = dump.Code, dump.Symbols()
	return true, err
}

// dump is where a process has its jitdump, "" if it has none.
func (p *process) dump(maps []imagemap.Mapping) string {
	i := slices.IndexFunc(maps, func(m imagemap.Mapping) bool {
		return m.Executable() && filepath.Base(m.Path) == "jit-"+p.id+".dump"
	})
	if i < 0 {
		return ""
	}
	return maps[i].Path
}

// reopen opens a file that a process has left. There is no file where it is the same as
// before, and no information either where it does not exist.
func (p *process) reopen(path string, before fs.FileInfo) (*os.File, fs.FileInfo, error) {
	f, err := jit.OpenRegular(p.root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !sameContents(info, before) {
		return f, info, nil
	}
	f.Close()
	return nil, info, err
}

// process is how a process sees the files and itself.
type process struct {
	root string
	id   string // in its own PID namespace
	uid  string // the effective user
}

func aboutProcess(pid int) *process {
	p := &process{root: fmt.Sprintf("/proc/%d/root", pid), id: fmt.Sprint(pid)}
	if _, err := os.Stat(p.root); err != nil {
		p.root = "/"
	}
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return p
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 1 && fields[0] == "NStgid:":
			p.id = fields[len(fields)-1] // in the innermost namespace
		case len(fields) > 2 && fields[0] == "Uid:":
			p.uid = fields[2]
		}
	}
	return p
}
