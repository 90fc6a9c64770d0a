package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

// Names of files in a folder of stacks.
const (
	IndexFile  = "index.json"
	ImagesFile = "images.cif"
)

// ErrForeignFolder: the folder that stacks are to be written to holds something
// else, which is not going to be removed.
var ErrForeignFolder = errors.New("the folder holds other files than exported stacks")

// Index is the contents of index.json: the list of a folder's stacks.
type Index struct {
	Producer     string `json:"producer"`     // "clew v1.28.0 (...)"
	Architecture string `json:"architecture"` // "amd64"
	Images       string `json:"images"`       // name of the file with the image map of all
	// Crash is what ended the program: the first stack is the one that died. nil for none.
	Crash  *stackjson.Crash `json:"crash,omitempty"`
	Stacks []IndexEntry     `json:"stacks"`
}

// IndexEntry is one stack in a folder.
type IndexEntry struct {
	File string `json:"file"`
	// Offset and Length are the stack's place in a file of several, in bytes. Length is 0
	// for a file of its own.
	Offset    int    `json:"offset,omitzero"`
	Length    int    `json:"length,omitzero"`
	Goroutine uint64 `json:"goroutine,omitzero"`
	Thread    uint64 `json:"thread,omitzero"`
	Frames    int    `json:"frames"` // of the stack, trunc not counted
	Stop      string `json:"stop"`   // "end" or "truncated"
	Reason    string `json:"reason,omitempty"`
}

// manyStacks is from how many stacks on they are concatenated, so many in a file.
const manyStacks = 1000

// WriteFolder writes a set's stacks to a folder: goroutine-ID.cbf or, for a thread
// that runs none, thread-ID.cbf; from [manyStacks] on stacks-N.cbf, with so many each,
// one behind the other; the images of all; and the [Index]. The folder is built aside
// and then takes its place. An older export that is there is replaced; a folder with
// anything else in it is refused with [ErrForeignFolder].
func WriteFolder(dir string, set *Set) error {
	real, err := filepath.Abs(dir)
	if err != nil {
		return writeError(dir, err)
	}
	if target, err := filepath.EvalSymlinks(real); err == nil {
		real = target
	}
	mode, err := replaceable(dir, real)
	if err != nil {
		return err
	}
	temp, err := beside(real, func(temp string) error { return os.Mkdir(temp, 0o777) })
	if err != nil {
		return writeError(dir, err)
	}
	defer os.RemoveAll(temp) // after the rename there is nothing of that name
	err = set.fill(func(f File) error { return os.WriteFile(filepath.Join(temp, f.Name), f.Data, 0o666) })
	if err != nil {
		return writeError(dir, err)
	}
	old := ""
	if mode != 0 {
		if err := os.Chmod(temp, mode); err != nil {
			return writeError(dir, err)
		}
		if old, err = beside(real, func(temp string) error { return os.Rename(real, temp) }); err != nil {
			return writeError(dir, err)
		}
	}
	if err := os.Rename(temp, real); err != nil {
		if old != "" {
			err = errors.Join(err, os.Rename(old, real))
		}
		return writeError(dir, err)
	}
	if old != "" {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("remove the export that %s replaces: %w", dir, err)
		}
	}
	return nil
}

// fill makes the files of a folder of stacks, one after another; the index comes last.
func (s *Set) fill(write func(File) error) error {
	p := pack{
		set: s, write: write, taken: make(map[[2]uint64]bool), names: make(map[string]bool),
		index: Index{Producer: version.Get().String(), Architecture: s.Arch.String(), Images: ImagesFile, Crash: s.Crash, Stacks: []IndexEntry{}},
	}
	for st := range s.traces() {
		if err := p.add(&st); err != nil {
			return err
		}
	}
	if err := p.flush(true); err != nil {
		return err
	}
	cif, err := ImagesData(s.Arch, s.Images)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(p.index, "", "  ")
	if err != nil {
		return err
	}
	if err := write(File{ImagesFile, cif}); err != nil {
		return err
	}
	return write(File{IndexFile, append(printable.JSON(text), '\n')})
}

// pack gathers the files of a folder.
type pack struct {
	set   *Set
	write func(File) error
	index Index
	taken map[[2]uint64]bool
	names map[string]bool
	held  []File // the stacks that are not written yet, each with the name of its own file
	files int    // files of many that were written
}

func (p *pack) add(st *unwind.Stack) error {
	id := [2]uint64{st.Goroutine, st.Thread}
	if p.taken[id] {
		return fmt.Errorf("two stacks of %s", title(st))
	}
	p.taken[id] = true
	data, err := EncodeStack(st, WordSize(p.set.Arch), cbf.EncodeOptions{})
	if err != nil {
		return err
	}
	name := ""
	if p.files == 0 {
		if name = stackFile(st, p.names); name == "" {
			return fmt.Errorf("two stacks of %s", title(st))
		}
		p.names[name] = true
	}
	p.held = append(p.held, File{name, data})
	e := IndexEntry{File: name, Goroutine: st.Goroutine, Thread: st.Thread, Stop: unwind.End.String(), Reason: st.Reason}
	if truncated(st) {
		e.Stop = unwind.Truncated.String()
	}
	for j := range st.Frames {
		if !st.Frames[j].Inlined {
			e.Frames++
		}
	}
	p.index.Stacks = append(p.index.Stacks, e)
	if p.set.OneFileEach || len(p.held) == manyStacks {
		return p.flush(false)
	}
	return nil
}

// flush writes the stacks that are held: as one file if there are many, and each to its own
// if these are all.
func (p *pack) flush(last bool) error {
	held := p.held
	p.held = nil
	if p.set.OneFileEach || last && p.files == 0 && len(held) < manyStacks {
		for _, f := range held {
			if err := p.write(f); err != nil {
				return err
			}
		}
		return nil
	}
	if len(held) == 0 {
		return nil
	}
	p.files++
	file := File{Name: fmt.Sprintf("stacks-%d.cbf", p.files)}
	entries := p.index.Stacks[len(p.index.Stacks)-len(held):]
	for i, f := range held {
		entries[i].File, entries[i].Offset, entries[i].Length = file.Name, len(file.Data), len(f.Data)
		file.Data = append(file.Data, f.Data...)
	}
	return p.write(file)
}

// stackFile names a stack's file. A goroutine that has a file already is told
// apart by its thread. It is empty if there is no name left.
func stackFile(s *unwind.Stack, taken map[string]bool) string {
	var names []string
	if s.Goroutine != 0 {
		names = append(names, fmt.Sprintf("goroutine-%d.cbf", s.Goroutine))
	}
	if s.Thread != 0 || s.Goroutine == 0 {
		names = append(names, fmt.Sprintf("thread-%d.cbf", s.Thread))
	}
	for _, name := range names {
		if !taken[name] {
			return name
		}
	}
	return ""
}

var ownFile = regexp.MustCompile(`^((goroutine|thread|stacks)-[0-9]+\.cbf|images\.cif|index\.json)$`)

// replaceable returns the permissions of a folder that is there and may be
// replaced, 0 where there is nothing. The error says that there is something
// that may not. real is the folder that dir, the user's name for it, stands for.
func replaceable(dir, real string) (fs.FileMode, error) {
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, writeError(dir, err)
	case !info.IsDir():
		return 0, fmt.Errorf("write %s: several stacks need a folder, and this is not a folder; name another", dir)
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return 0, writeError(dir, err)
	}
	index := len(entries) == 0
	for _, e := range entries {
		if !e.Type().IsRegular() || !ownFile.MatchString(e.Name()) {
			return 0, fmt.Errorf("write %s: %w (%s); name a new or empty one", dir, ErrForeignFolder, e.Name())
		}
		index = index || e.Name() == IndexFile
	}
	if !index {
		return 0, fmt.Errorf("write %s: %w (no %s); name a new or empty one", dir, ErrForeignFolder, IndexFile)
	}
	return info.Mode().Perm(), nil
}
