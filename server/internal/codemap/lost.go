package codemap

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// openLost opens an image whose file has been deleted or replaced: the file that
// the process has mapped, which the kernel keeps (proc_pid_map_files(5), for the
// privileged; proc_pid_exe(5) for the program itself), else its memory.
func (f *Files) openLost(img *imagemap.Image, pid int, memory io.ReaderAt) (*symbols.File, error) {
	problem := func(instead string) error {
		return fmt.Errorf("%s was %s after it was loaded: it is not used, but %s", img.Path, img.Loaded.File, instead)
	}
	for _, path := range kept(img, pid) {
		file, err := symbols.OpenWithDebug(path, symbols.DebugSearch{
			Choice: f.choice(img), Known: img.Path, Beside: filepath.Join(fmt.Sprintf("/proc/%d/root", pid), filepath.Dir(img.Path)), Folders: f.debugFolders(),
		})
		if err != nil {
			continue
		}
		file.AddProblem(problem("what the kernel has kept of the old one is"))
		return file, nil
	}
	file, _, err := loaded(img, memory)
	if err != nil {
		return nil, fmt.Errorf("%s was %s after it was loaded: nothing is known of it (%w)", img.Path, img.Loaded.File, err)
	}
	file.AddProblem(problem("what the process has in memory is: names are missing"))
	return file, nil
}

// openMissing opens an image of a snapshot whose file is not there. The snapshot
// has its memory if the file was lost already when the snapshot was made.
func openMissing(img *imagemap.Image, path string, memory io.ReaderAt) (*symbols.File, error) {
	file, err := symbols.Open(path) // for the error about the path
	if err == nil {
		return file, nil
	}
	fromMemory, _, merr := loaded(img, memory)
	if merr != nil {
		return nil, err
	}
	fromMemory.AddProblem(fmt.Errorf("%w: what the snapshot holds of its memory is used: names are missing", err))
	return fromMemory, nil
}

// kept lists the paths by which the kernel still offers an image's file.
func kept(img *imagemap.Image, pid int) (paths []string) {
	for _, r := range img.Loaded.Executable {
		paths = append(paths, fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, r.Start, r.End))
	}
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(exe); err == nil && target == img.Path+" (deleted)" {
		paths = append(paths, exe)
	}
	return paths
}

// loaded reads an image from memory.
func loaded(img *imagemap.Image, memory io.ReaderAt) (*symbols.File, []unwind.Range, error) {
	if memory == nil || img.Loaded == nil || !img.Loaded.HasBias {
		return nil, nil, errNoFile
	}
	return symbols.Loaded(memory, img.Base, img.Loaded.Bias)
}

// MemoryRanges lists the memory that is read of an image without a file: a snapshot
// must hold it.
func MemoryRanges(img *imagemap.Image, memory io.ReaderAt) (ranges []unwind.Range) {
	if img.Loaded == nil {
		return nil
	}
	switch img.Loaded.File {
	case imagemap.FileNone:
		if isMachO(img, memory) {
			_, read, _ := loaded(img, memory)
			return read
		}
		if where, ok := memoryRange(img); ok {
			ranges = append(ranges, where)
		}
	case imagemap.FileDeleted, imagemap.FileReplaced:
		_, ranges, _ = loaded(img, memory)
	}
	return ranges
}
