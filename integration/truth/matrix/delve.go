//go:build linux && (amd64 || arm64)

package matrix

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/stand"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// delveDepth is more than any stack here has.
const delveDepth = 200

// delveStack attaches a headless Delve, and asks it over JSON-RPC for the stack
// of the thread.
func (b *bench) delveStack(s *stand.Stand) (stack stackjson.Stack, err error) {
	maps, err := program.ReadMappings(fmt.Sprintf("/proc/%d/maps", s.PID))
	if err != nil {
		return stack, err
	}
	socket := filepath.Join(b.folder, fmt.Sprintf("dlv%d", s.PID))
	cmd := exec.Command(b.dlv, "attach", strconv.Itoa(s.PID), "--headless", "--api-version=2", "--listen=unix:"+socket)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return stack, err
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer func() {
		timer.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is what we want
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out.String())
		}
	}()
	conn, err := dial(socket)
	if err != nil {
		return stack, err
	}
	client := rpc2.NewClientFromConn(conn)
	if _, err := client.SwitchThread(int(s.Thread)); err != nil {
		return stack, err
	}
	// -1 is the goroutine of the thread, or the thread where there is none.
	frames, err := client.Stacktrace(-1, delveDepth, 0, 0, nil)
	if err != nil {
		return stack, err
	}
	if err := client.Detach(true); err != nil {
		return stack, err
	}
	return convert(frames, maps), nil
}

// dial waits for Delve to listen.
func dial(socket string) (net.Conn, error) {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil || time.Now().After(end) {
			return conn, err
		}
	}
}

// convert returns Delve's stack in the form of clew's. Over JSON-RPC Delve does not
// say which functions are inlined: they have the program counter and the frame of
// the next one.
func convert(frames []api.Stackframe, maps []imagemap.Mapping) stackjson.Stack {
	stack := stackjson.Stack{Stop: stackjson.StopTruncated, Reason: "Delve does not mark its last frame as the bottom"}
	for i := range frames {
		f := &frames[i]
		if f.Err != "" {
			stack.Reason = f.Err
			break
		}
		if f.Bottom {
			stack.Stop, stack.Reason = stackjson.StopEnd, ""
		}
		frame := stackjson.Frame{Index: i, PC: stackjson.Address(f.PC), Kind: stackjson.KindRA, Strategy: "delve", Image: imageOf(f.PC, maps)}
		if i == 0 {
			frame.Kind = stackjson.KindPC
		}
		if f.Function != nil {
			frame.Function = f.Function.Name_
		}
		if i+1 < len(frames) {
			next := &frames[i+1]
			frame.Inlined = next.PC == f.PC && next.FrameOffset == f.FrameOffset && next.Err == ""
		}
		stack.Frames = append(stack.Frames, frame)
	}
	return stack
}

func imageOf(pc uint64, maps []imagemap.Mapping) string {
	i := slices.IndexFunc(maps, func(m imagemap.Mapping) bool { return pc >= m.Start && pc < m.End })
	if i < 0 {
		return ""
	}
	return maps[i].Path
}
