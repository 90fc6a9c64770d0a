package frames

import (
	"bytes"
	"encoding/json"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// view is the program at one stop, with the stacks that the client was shown.
type view struct {
	*debuggee.View
	stacks   map[stop.Key]*assembled
	goStacks map[stop.Key]*goStack
	delve    map[int64]map[int]delveFrame // by Delve's thread ID and frame index
}

// assembled is the stack of one thread of control at a stop, with the IDs that the
// client knows.
type assembled struct {
	found  *stop.Stack
	stack  unwind.Stack // found's; it has no indices in Delve's stack where Delve does not know the thread
	ids    []int        // clew's ID of each frame, 0 where it has none yet
	labels map[int]int  // IDs, by the frame after the label
}

// goStack is a stack of Go functions only.
type goStack struct {
	assembled
	// compared is the number of innermost frames that Delve has alike.
	compared int
}

// delveFrame is a frame as Delve's session shows it: its ID is a handle of that
// session, valid until the next stop, and the way to its variables.
type delveFrame struct {
	raw json.RawMessage
	id  int64
	pc  uint64
}

// isNamed reports whether the frame has that name.
func (f *delveFrame) isNamed(name string) bool {
	if !bytes.Contains(f.raw, []byte(`"name":"`+name+`"`)) {
		return false
	}
	o, err := dapwire.ParseObject(f.raw)
	return err == nil && o.Text("name") == name // and not its source
}
