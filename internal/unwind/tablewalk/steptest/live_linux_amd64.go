package steptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/unwind"
)

// Live returns the images of a process for [Tracer.Images]. load reads an ELF file
// as it lies with a bias.
func Live(t testing.TB, p *singlestep.Process, load func(path string, bias uint64) (unwind.Image, error)) func() (unwind.ImageDelta, []unwind.Range, error) {
	l := live{process: p, load: load, dir: t.TempDir(), known: map[string]bool{}}
	return l.images
}

type live struct {
	process *singlestep.Process
	load    func(path string, bias uint64) (unwind.Image, error)
	dir     string
	known   map[string]bool // mappings that were told of
	maps    []unwind.Range  // executable ones
	nextID  unwind.ImageID
}

// images reads the process's mappings.
func (l *live) images() (delta unwind.ImageDelta, maps []unwind.Range, err error) {
	delta = unwind.ImageDelta{Arch: unwind.AMD64, OS: "linux"}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", l.process.PID))
	if err != nil {
		return delta, nil, err
	}
	bases := map[string]uint64{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		low, high, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil {
			return delta, nil, fmt.Errorf("maps: %q", line)
		}
		path := ""
		if len(f) > 5 {
			path = f[5]
		}
		if _, ok := bases[path]; !ok && (f[2] == "00000000") {
			bases[path] = start
		}
		if !strings.Contains(f[1], "x") || l.known[f[0]] {
			continue
		}
		l.known[f[0]] = true
		l.maps = append(l.maps, unwind.Range{Start: start, End: end})
		if path == "[vdso]" {
			path = filepath.Join(l.dir, "vdso")
			data := make([]byte, end-start)
			n := l.process.Read(start, data)
			if err := os.WriteFile(path, data[:n], 0o600); err != nil {
				return delta, nil, err
			}
			bases[path] = start
		}
		if !strings.HasPrefix(path, "/") {
			continue
		}
		image, err := l.load(path, 0)
		if err == nil && image.Executable[0].Start < bases[path] { // else it lies where it was linked to
			image, err = l.load(path, bases[path])
		}
		if err != nil {
			return delta, nil, err
		}
		l.nextID++
		image.ID = l.nextID
		delta.Added = append(delta.Added, image)
	}
	return delta, l.maps, nil
}
