package live

import (
	"bytes"
	"fmt"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/unwind"
)

// distant is the place of a process on another machine. Of its mappings only the
// images are known. Files at the same paths on this machine are used if they are of
// the same build.
type distant struct {
	remote *delve.Remote
}

func (d *distant) maps() ([]byte, error) { return d.remote.Mappings() }
func (d *distant) memory() unwind.Memory { return d.remote.Memory() }
func (d *distant) name() string {
	return fmt.Sprintf("process %d behind %v", d.remote.Pid(), d.remote.Conn().RemoteAddr())
}

func (d *distant) images(maps []byte) (*imagemap.ImageMap, error) {
	s := imagemap.Source{Maps: bytes.NewReader(maps), Memory: unwind.ReaderAt{Memory: d.remote.FileMemory()}}
	return asFarAsKnown(s.Capture())
}

func (d *distant) opener(f *codemap.Files) codemap.Opener {
	return f.Distant(unwind.ReaderAt{Memory: d.remote.FileMemory()})
}
