package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

// Names of files in a folder of stacks.
const (
	IndexFile  = "index.json"
	ImagesFile = "images.cif"
)

// imagesEnding is what image maps are called by.
const imagesEnding = ".cif"

// ErrForeignFolder: the folder that stacks are to be written to holds something
// else, which is not going to be removed.
var ErrForeignFolder = errors.New("the folder holds other files than exported stacks")

// WriteStack writes one stack to a file, and its images beside it: x.cbf and
// x.cif, for any other name NAME and NAME.cif.
func WriteStack(path string, arch unwind.Arch, s *unwind.Stack, images *imagemap.ImageMap) error {
	var a Addresses
	a.Add(s.Frames)
	return WriteAddresses(path, arch, s, &a, images)
}

// WriteAddresses is [WriteStack] for a stack whose frames were taken as they were
// found.
func WriteAddresses(path string, arch unwind.Arch, s *unwind.Stack, a *Addresses, images *imagemap.ImageMap) error {
	data, err := encode(s, a.of(s), WordSize(arch), cbf.EncodeOptions{})
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, imagesEnding) {
		return fmt.Errorf("write %s: .cif is the name of the image map that comes with it; name the stack .cbf", path)
	}
	cif, err := imagesData(arch, images)
	if err != nil {
		return err
	}
	backtrace, err := stage(path, writes(data))
	if err != nil {
		return err
	}
	maps, err := stage(strings.TrimSuffix(path, endings["cbf"])+imagesEnding, writes(cif))
	if err != nil {
		backtrace.discard()
		return err
	}
	// The images first: who finds the stack finds its images.
	if err := maps.commit(); err != nil {
		backtrace.discard()
		return err
	}
	return backtrace.commit()
}

func writes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// imagesData is the image map as CIF; without one it is a map without images.
func imagesData(arch unwind.Arch, m *imagemap.ImageMap) ([]byte, error) {
	if m == nil {
		var err error
		if m, err = imagemap.New(imagemap.WordSize(WordSize(arch)), "", nil); err != nil {
			return nil, err
		}
	}
	return m.AppendCIF(nil, imagemap.EncodeOptions{}), nil
}

// Index is the contents of index.json: the list of a folder's stacks.
type Index struct {
	Producer     string       `json:"producer"`     // "clew v1.28.0 (...)"
	Architecture string       `json:"architecture"` // "amd64"
	Images       string       `json:"images"`       // name of the file with the image map of all
	Stacks       []IndexEntry `json:"stacks"`
}

// IndexEntry is one stack in a folder.
type IndexEntry struct {
	File      string `json:"file"`
	Goroutine uint64 `json:"goroutine,omitzero"`
	Thread    uint64 `json:"thread,omitzero"`
	Frames    int    `json:"frames"` // in the file, trunc not counted
	Stop      string `json:"stop"`   // "end" or "truncated"
	Reason    string `json:"reason,omitempty"`
}

// WriteFolder writes stacks to a folder: goroutine-ID.cbf or, for a thread that
// runs none, thread-ID.cbf; the images of all; and the [Index]. The folder is
// built aside and then takes its place. An older export that is there is
// replaced; a folder with anything else in it is refused with
// [ErrForeignFolder].
func WriteFolder(dir string, arch unwind.Arch, stacks []unwind.Stack, images *imagemap.ImageMap) error {
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
	if err := fill(temp, arch, stacks, images); err != nil {
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

func fill(dir string, arch unwind.Arch, stacks []unwind.Stack, images *imagemap.ImageMap) error {
	files, err := folderFiles(arch, stacks, images)
	for i := 0; i < len(files) && err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, files[i].Name), files[i].Data, 0o666)
	}
	return err
}

// folderFiles returns the files of a folder of stacks; the index comes last.
func folderFiles(arch unwind.Arch, stacks []unwind.Stack, images *imagemap.ImageMap) ([]File, error) {
	var files []File
	index := Index{Producer: version.Get().String(), Architecture: arch.String(), Images: ImagesFile, Stacks: []IndexEntry{}}
	taken := make(map[string]bool, len(stacks))
	for i := range stacks {
		s := &stacks[i]
		name := stackFile(s, taken)
		if name == "" {
			return nil, fmt.Errorf("two stacks of %s", title(s))
		}
		taken[name] = true
		data, err := EncodeStack(s, WordSize(arch), cbf.EncodeOptions{})
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, data})
		e := IndexEntry{File: name, Goroutine: s.Goroutine, Thread: s.Thread, Stop: unwind.End.String(), Reason: s.Reason}
		if truncated(s) {
			e.Stop = unwind.Truncated.String()
		}
		for j := range s.Frames {
			if !s.Frames[j].Inlined {
				e.Frames++
			}
		}
		index.Stacks = append(index.Stacks, e)
	}
	cif, err := imagesData(arch, images)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(files, File{ImagesFile, cif}, File{IndexFile, append(text, '\n')}), nil
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

var ownFile = regexp.MustCompile(`^((goroutine|thread)-[0-9]+\.cbf|images\.cif|index\.json)$`)

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
