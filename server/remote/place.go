package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/peer"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// Process reads the program from stop to stop. Where the server is on this machine
// (it traces the process, and holds the other end of the connection) the system says
// what the process has mapped, and files are as the process sees them; else both are
// found through the server.
func (p *Program) Process(debugFolders []string) *live.Process {
	process := live.New(p, &place{program: p})
	process.FindDebugFiles(debugFolders)
	return process
}

// place is where the program's address space is, which is found out when the program
// first stands still.
type place struct {
	live.Place
	program *Program
}

// Maps returns the mappings.
func (p *place) Maps() ([]byte, error) {
	switch {
	case p.Place != nil:
	case peer.Traces(p.program.socket, p.program.pid):
		p.Place = live.Here(p.program)
	default:
		p.Place = distant{p.program}
	}
	return p.Place.Maps()
}

// distant is the place of a process on another machine. Of its mappings only the
// images are known. Files at the same paths on this machine are used if they are of
// the same build.
type distant struct{ *Program }

func (d distant) Maps() ([]byte, error) { return d.mappings() }
func (d distant) LocalPid() int         { return 0 }

// PACMask is derived: the server does not tell it. Images alone do not show how large the
// address space is: a static program lies at its lower end, and addresses of the vDSO would be cut.
// But the first thread's stack lies at the upper end. Its arguments do, for which Go has a
// variable; before the runtime has started the stack pointer does. Test: TestR11MaskOfServer.
func (d distant) PACMask(maps []imagemap.Mapping) uint64 {
	known := slices.Clone(maps)
	add := func(addr uint64) {
		if addr != 0 && addr+1 != 0 {
			known = append(known, imagemap.Mapping{Start: addr, End: addr + 1})
		}
	}
	if regs, err := d.registersOf(d.seen.current); err == nil {
		sp, _ := regs.SP(d.arch)
		add(sp)
	}
	if at, err := d.address("runtime.argv"); err == nil {
		var argv [8]byte
		if d.Memory().ReadMemory(at, argv[:]) == nil {
			add(binary.LittleEndian.Uint64(argv[:]))
		}
	}
	return procfs.PACMask(known)
}

func (d distant) Name() string {
	return fmt.Sprintf("process %d behind %v", d.pid, d.socket.RemoteAddr())
}

// files is the memory that files are mapped to.
func (d distant) files() unwind.ReaderAt { return unwind.ReaderAt{Memory: original{d.Program}} }

func (d distant) Images(maps []byte) (*imagemap.ImageMap, error) {
	return live.Capture(imagemap.Source{Maps: bytes.NewReader(maps), Memory: d.files()})
}

var errDistant = errors.New("it is on another machine, and no file of that build is here")

func (d distant) Opener(f *codemap.Files) codemap.Opener {
	return func(img *imagemap.Image) (*symbols.File, error) {
		if file, err := f.Same(img); err == nil {
			return file, nil
		}
		return f.Loaded(img, d.files(), errDistant)
	}
}
