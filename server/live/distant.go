package live

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/codemap"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/unwind"
)

// distant is the place of a process on another machine.
type distant struct {
	remote *delve.Remote
}

var errDistant = errors.New("the program is on another machine")

func (d *distant) maps() ([]byte, error) { return nil, errDistant }
func (d *distant) memory() unwind.Memory { return d.remote.Memory() }
func (d *distant) name() string {
	return fmt.Sprintf("process %d behind %v", d.remote.Pid(), d.remote.Conn().RemoteAddr())
}

func (d *distant) images(maps []byte) (*imagemap.ImageMap, error) {
	s := imagemap.Source{Maps: bytes.NewReader(maps), Memory: unwind.ReaderAt{Memory: d.remote.Memory()}}
	return s.Capture()
}

func (d *distant) opener(f *codemap.Files) codemap.Opener {
	return f.Offline(func(string) string { return "" }, "", unwind.ReaderAt{Memory: d.remote.Memory()})
}
