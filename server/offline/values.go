package offline

import (
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// Values returns the frames of a stack, which has all registers, for what they hold; ok is false where nothing is known of the
// images. They are read from memory, which is the input's as a rule.
func Values(in *engine.Input, st *unwind.Stack, memory unwind.Memory) (frames *values.Stack, ok bool) {
	code, ok := in.Target.Code.(*codemap.Map)
	if !ok {
		return nil, false
	}
	return values.New(values.Source{Arch: in.Target.Arch, Code: code, Memory: memory}, st.Frames), true
}
