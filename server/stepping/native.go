package stepping

import (
	"github.com/clewdbg/clew/server/stepping/lines"
	"github.com/clewdbg/clew/unwind"
)

// byLines plans the way of a step through the lines of native code, as far as it has one. It says whether the code has lines.
func (d *Decision) byLines(s *Situation, innermost *unwind.Frame) bool {
	pc := innermost.PC.Raw()
	place := s.Code.Place(pc)
	fn, _ := s.Code.Function(pc)
	mode, only := lines.Over, uint64(0)
	switch {
	case d.Command == StepIn && (place.Lined() || fn.Glue):
		mode = lines.Into // in glue to what it calls
	case d.Command == Next && place.Lined():
		only = s.Call
	case d.Command == StepOut && len(place.Chain) > 1:
		mode = lines.Beyond
	default:
		return place.Lined()
	}
	d.Lines = lines.New(s.Arch, s.Code, mode, only, innermost.CFA)
	return place.Lined()
}
