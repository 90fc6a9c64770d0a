package live

import (
	"bytes"
	"os"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Ahead reads what a process has mapped while it runs, so that files and tables are at hand
// when it stops. It returns the input for strategies to learn of the images: its memory is of an
// earlier stop. It returns nil if there is nothing new, or if the images cannot be known without memory. Nothing
// is trusted for that: the next stop reads the mappings, and looks at each file, as any stop does.
func (p *Process) Ahead() *engine.Input {
	if _, here := p.place.(running); !here || p.known() == nil {
		return nil
	}
	now, err := p.readAhead(p.pid)
	if now == nil || err != nil {
		return nil
	}
	in := &engine.Input{Target: p.target}
	now.describe(in)
	p.keep(now)
	return in
}

// readAhead returns what is mapped, nil if that is what was known or if it changes meanwhile.
func (p *Process) readAhead(pid int) (*loaded, error) {
	text, err := procfs.ReadMaps(pid)
	if err != nil || bytes.Equal(text, p.ahead) {
		return nil, err
	}
	now := &loaded{text: text}
	if err := now.parse(); err != nil {
		return nil, err
	}
	p.ahead = text
	if sameImages(now.maps, p.known().maps) || anonymousCode(now.maps) {
		return nil, nil
	}
	memory, err := os.Open(procfs.Path(pid, "mem")) // of the vDSO
	if err != nil {
		return nil, err
	}
	defer func() { _ = memory.Close() }()
	if now.images, err = imagemap.Capture(pid, memory); err != nil {
		return nil, err
	}
	for _, img := range now.images.All() {
		if img.Loaded.File != imagemap.FilePresent && img.Path != "[vdso]" {
			return nil, nil // its contents are in memory
		}
	}
	p.mu.Lock()
	p.bind(now, p.files.Arch, p.files.Live(pid, memory))
	p.mu.Unlock()
	if after, err := procfs.ReadMaps(pid); err != nil || !bytes.Equal(after, text) {
		p.ahead = nil
		return nil, err
	}
	now.text = nil // the rest is read at the stop
	return now, nil
}
