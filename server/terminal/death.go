package terminal

import (
	"context"
	"fmt"
	"io"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/cause"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/stop"
)

// tellDeath says what ended the process of a core file: Delve's terminal does not. What cannot be found out is not said.
func (s *server) tellDeath(to io.Writer) {
	if s.file == nil || !s.readable() {
		return
	}
	var d *cause.Death
	_ = s.stacks.Look(func(ctx context.Context, at *stop.Stopped, prepared *engine.Prepared) (err error) {
		d, err = cause.OfCore(ctx, at, prepared, s.file.Died())
		return err
	})
	if d == nil || d.Crash == nil {
		return
	}
	text := export.CrashLine(d.Crash)
	if n := d.Crash.Frame; n != nil {
		if f := &d.Stack.Frames[*n]; f.Function != "" {
			text += printable.Text(fmt.Sprintf(", in %s", s.names.Frame(f)))
			if f.Line != 0 {
				text += printable.Text(fmt.Sprintf(" at %s:%d", f.File, f.Line))
			}
		}
	}
	fmt.Fprintf(to, "thread %d died: %s\n", d.Crash.Thread, text)
	if d.Crash.Message != "" {
		fmt.Fprintf(to, "%s\n", printable.Lines(d.Crash.Message))
	}
}
