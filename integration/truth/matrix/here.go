//go:build linux && (amd64 || arm64)

package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/stand"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
)

// stackHere does in this process what clew stack does: it starts neither the command nor
// its plugins.
func stackHere(s *stand.Stand) (stack stackjson.Stack, err error) {
	session, err := delve.Attach(s.PID)
	if err != nil {
		return stack, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	ctx := context.Background()
	at, err := stop.At(ctx, live.NewProcess(session), nil, false)
	if err != nil {
		return stack, err
	}
	threads, err := at.Threads()
	if err != nil {
		return stack, err
	}
	threads = slices.DeleteFunc(threads, func(th reading.Thread) bool { return th.ID != s.Thread })
	prepared, err := at.Prepare(ctx, engine.New(inprocess.Strategies()))
	if err != nil {
		return stack, err
	}
	set := export.Set{Arch: at.Arch(), Stacks: slices.Values(at.All(ctx, prepared, threads, stop.AllOptions{})), Images: at.Images()}
	for i := range threads {
		set.Threads = append(set.Threads, threads[i].Thread)
	}
	var out bytes.Buffer
	if err := set.Write(&out, "json"); err != nil {
		return stack, err
	}
	return parse(out.Bytes())
}

// core has the program crash, and returns the stack of the core file that the kernel writes.
func (b *bench) core(p program.Program, c *column, _ stand.Place, _ *debugger) (stack stackjson.Stack, want []program.Expected, err error) {
	dir, err := os.MkdirTemp(b.folder, "core-")
	if err != nil {
		return stack, nil, err
	}
	defer os.RemoveAll(dir)
	stem := filepath.Join(dir, "record")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -c unlimited && exec "$0" "$@"`, p.Path, c.Name, c.Stop, stem)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(p.Env(), "GOTRACEBACK=crash"), time.Second
	out, _ := cmd.CombinedOutput() // it crashes
	files, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(files) != 1 {
		return stack, nil, fmt.Errorf("core files: %v, %w: is kernel.core_pattern \"core\"? %s", files, err, out)
	}
	records, err := filepath.Glob(stem + ".[0-9]*")
	if err != nil || len(records) != 1 {
		return stack, nil, fmt.Errorf("records of threads: %v, %w", records, err)
	}
	id := strings.TrimPrefix(filepath.Ext(records[0]), ".")
	if stack, err = b.clewSays("--core", files[0], "--thread", id, p.Path); err != nil {
		return stack, nil, err
	}
	thread, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return stack, nil, err
	}
	record, err := program.ReadRecord(stem, thread)
	if err != nil {
		return stack, nil, err
	}
	if c.Handled { // signals of its own may have interrupted the handler
		for i := len(stack.Frames) - 1; i >= 0; i-- {
			if strings.HasPrefix(filepath.Base(stack.Frames[i].Image), trampoline) && stack.Frames[i].Kind == stackjson.KindRA {
				stack.Frames = stack.Frames[i+1:]
				break
			}
		}
	}
	return stack, c.truth(record, 0), nil // the function is known, its instruction is not
}

// places are where the program is to be stopped; one that crashes has one place.
func (c *column) places() []stand.Place {
	if c.Core {
		return stopHere
	}
	return c.Places
}
