//go:build linux && (amd64 || arm64)

package sampled

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// liar is the strategy of call-frame information with a wrong table for one frame: the CFA lies so many bytes above the
// stack pointer, and the return address below it.
type liar struct {
	unwind.Unwinder
	pc, sp, offset uint64
	asked          bool
}

func (l *liar) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	r := requests[0]
	pc, _ := r.Registers.PC(r.Arch)
	sp, _ := r.Registers.SP(r.Arch)
	if pc != l.pc || sp != l.sp {
		r.MaxFrames = 1
		return l.Unwinder.Walk(ctx, []unwind.WalkRequest{r})
	}
	l.asked = true
	cfa := sp + l.offset
	ra, ok := r.Stack.Word(cfa-8, r.Arch.ByteOrder())
	if !ok {
		return []unwind.WalkResult{{Stop: unwind.StopMemory, Need: unwind.Range{Start: cfa - 8, End: cfa}}}, nil
	}
	step := unwind.Step{CFA: cfa, CallerKind: unwind.KindReturn, Trust: unwind.TrustCFI, Rule: fmt.Sprintf("cfa=rsp+%d; ra=[cfa-8]; fp=unchanged", l.offset)}
	step.Caller.Inherit(&r.Registers, r.Arch)
	step.Caller.Set(r.Arch.PC(), ra)
	step.Caller.Set(r.Arch.SP(), cfa)
	return []unwind.WalkResult{{Steps: []unwind.Step{step}, Stop: unwind.StopLimit}}, nil
}

// blind is a code map without models.
type blind struct{ assembler.CodeMap }

func (blind) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// lies judges the samples in a file with a wrong table for each frame of C in turn, whose CFA is at each place up to most
// bytes above the stack pointer; without models of the code too.
func lies(file, root string, most uint64, samples int, model bool) (*tally, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	strategies := inprocess.Strategies()
	l := &liar{Unwinder: strategies[0].Unwinder}
	strategies[0].Unwinder = l
	t, opener, e, ctx := &tally{}, &offline.Opener{Root: root}, engine.New(strategies), context.Background()
	reader := snapshot.NewReader(f, snapshot.Options{})
	for taken, err := range reader.All() {
		var want truth
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, reader.Line(), err)
		}
		if text, err := taken.Expect.MarshalJSON(); err != nil || json.Unmarshal(text, &want) != nil {
			return nil, fmt.Errorf("%s:%d: no true stack", file, reader.Line())
		}
		in, threads, err := opener.Open(taken, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if in.Names = nil; !model {
			in.Target.Code = blind{in.Target.Code}
		}
		prepared, frames := e.Prepare(ctx, in), want.Stacks[0].Frames
		for k, at := range frames {
			fn, known := in.Target.Code.Function(unwind.LookupAddr(at.PC))
			if at.SP == 0 || known && fn.Go {
				continue
			}
			for l.offset = 8; l.offset <= most; l.offset += 8 {
				l.pc, l.sp, l.asked = uint64(at.PC), uint64(at.SP), false
				stack := prepared.Stack(ctx, &threads[0], assembler.Options{})
				if !l.asked {
					break // other tables or the host know the frame
				}
				c, why := code{taken.Arch, in.Target.Code.Function}.judge(&stack, frames)
				t.add(c, fmt.Sprintf("a table at frame %d (%#x) says %d: %s", k, uint64(at.PC), l.offset, why), reader.Line())
			}
		}
		if reader.Line() >= samples {
			break
		}
	}
	return t, nil
}
