package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// breaking is a source that places breakpoints in what a process has loaded.
type breaking interface {
	KnowFiles(func(pid int, arch unwind.Arch, memory unwind.Memory) (*codemap.Map, error))
}

// heldPatience bounds the wait for a request that reads the process, and that may wait for whoever holds it.
const heldPatience = time.Second

var errBusy = errors.New("the process is being read")

// Held reads what a process has loaded, for who holds it: the source is not asked. It may be called at any time.
func (p *Process) Held(pid int, arch unwind.Arch, memory unwind.Memory) (*codemap.Map, error) {
	text, err := procfs.ReadMaps(pid)
	if err != nil {
		return nil, err
	}
	now := &loaded{}
	for until := time.Now().Add(heldPatience); !p.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return nil, errBusy
		}
	}
	defer p.mu.Unlock()
	now.text = text
	if err := now.parse(); err != nil {
		return nil, err
	}
	now.text = nil // the rest is read at the stop
	if p.last != nil && sameImages(now.maps, p.last.maps) {
		return p.last.code, nil
	}
	reader := unwind.ReaderAt{Memory: memory}
	if now.images, err = asFarAsKnown(imagemap.Capture(pid, reader)); err != nil {
		return nil, fmt.Errorf("read the images of process %d: %w", pid, err)
	}
	p.bind(now, arch, p.files.Live(pid, reader))
	p.last = now
	return now.code, nil
}
