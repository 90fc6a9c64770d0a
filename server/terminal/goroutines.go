package terminal

import (
	"debug/buildinfo"
	"fmt"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// listOwn lists goroutines where Delve cannot, for the reason in failed: the program has no
// DWARF. Filters and groups are Delve's alone.
func (s *server) listOwn(arg rpc2.ListGoroutinesIn, out *rpc2.ListGoroutinesOut, failed error) error {
	if len(arg.Filters) > 0 || arg.GroupBy != api.GoroutineFieldNone || !s.readable() {
		return failed
	}
	ids, err := s.stacks.Goroutines()
	if err != nil || len(ids) == 0 {
		return failed
	}
	start, end := min(max(arg.Start, 0), len(ids)), len(ids)
	out.Nextg = -1
	if arg.Count > 0 && start+arg.Count < end {
		end = start + arg.Count
		out.Nextg = end
	}
	for _, id := range ids[start:end] {
		stack, err := s.stacks.Whole(int64(id), userDepth)
		if err != nil {
			out.Goroutines = append(out.Goroutines, &api.Goroutine{ID: int64(id), Unreadable: err.Error()})
			continue
		}
		out.Goroutines = append(out.Goroutines, ownGoroutine(s, stack))
	}
	return nil
}

// maxUnreadable is the number of goroutines in a row that cannot be read, behind which a listing ends.
const maxUnreadable = 100

// endDamaged ends a listing that goes on with goroutines that cannot be read. Delve lists as many as the runtime's number of them says.
// Example: a core file with a damaged segment, in which that is 2^60: the listing had no end. Test: TestDamagedListing.
func endDamaged(out *rpc2.ListGoroutinesOut) {
	if len(out.Groups) > 0 { // these count the goroutines in the list
		return
	}
	row := 0
	for i, g := range out.Goroutines {
		if row++; g.Unreadable == "" {
			row = 0
		}
		if row > maxUnreadable {
			why := fmt.Sprintf("and no more are listed: the %d before cannot be read either, so the runtime's list is damaged", maxUnreadable)
			out.Goroutines, out.Nextg = append(out.Goroutines[:i:i], &api.Goroutine{Unreadable: why}), -1
			return
		}
	}
}

// ownGoroutine is a goroutine as Delve's interface has it.
func ownGoroutine(s *server, stack *stop.Stack) *api.Goroutine {
	g := &api.Goroutine{ID: int64(stack.Thread.Goroutine), ThreadID: int(stack.Thread.ID)}
	if len(stack.Frames) > 0 {
		f := &stack.Frames[0]
		g.CurrentLoc = s.inWords(api.Location{PC: f.PC.Raw()}, f)
		g.UserCurrentLoc = s.userLocation(stack, g.CurrentLoc)
	}
	if state := stack.Thread.State; state != nil {
		g.Status, g.WaitReason = uint64(state.Status), int64(state.WaitReason)
	}
	if stack.State == nil {
		return g
	}
	g.Labels = stack.State.Labels
	if c := stack.State.CreatedBy; c != nil {
		f := unwind.Frame{PC: unwind.Code(uint64(c.PC), unwind.KindReturn), Function: c.Function, File: c.File, Line: c.Line}
		g.GoStatementLoc = s.inWords(api.Location{PC: f.PC.Raw()}, &f)
	}
	return g
}

// goVersion is the release of Go that the program was built with, as a program without DWARF
// says; "" if it does not. Terminals name wait reasons by it.
func goVersion(s *server) string {
	path := s.image
	if path == "" {
		path = procfs.Path(s.processID(), "exe")
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	return info.GoVersion
}
