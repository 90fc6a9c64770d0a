package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/hashicorp/go-plugin/runner"
)

const (
	// drainTime is how long a dead plugin's last words are read. A process that
	// it left behind may hold the pipes open for ever.
	drainTime = 100 * time.Millisecond
	// busyTries: a copy that was just written cannot be run while another
	// goroutine's fork still holds its descriptor (ETXTBSY, until that exec).
	busyTries = 20
	busyPause = 5 * time.Millisecond
)

// command is what to run, for a plugin.
type command struct {
	path   string   // of the executable
	args   []string // with the name of the program
	env    []string
	memory uint64 // most bytes that it may allocate, 0 for no bound
	mark   string // a variable of its environment that no other plugin's has; "" for one that starts no processes
}

// process is a plugin's operating system process, as go-plugin's Runner. It
// differs from go-plugin's own: standard input is empty instead of the host's
// (which may be a debug adapter's channel), there is a life-line, and killing
// does not wait.
type process struct {
	command      command
	killCtx      context.Context // its end kills the process
	unkill       func()          // releases killCtx
	stdout       *os.File
	stderr       *os.File
	lifeline     *os.File
	dismissed    sync.Once   // closes the life-line
	stopWatching func() bool // of killCtx

	os     *os.Process
	gone   chan struct{} // closed when the process has ended
	status string        // how it ended; to be read once gone is closed
}

var _ runner.Runner = (*process)(nil)

// Start implements [runner.Runner].
func (p *process) Start(context.Context) error {
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	outR, outW, err1 := pipe()
	errR, errW, err2 := pipe()
	lifeR, lifeW, err3 := pipe()
	if err := cmp.Or(err1, err2, err3); err != nil { // the others' are the same
		closeAll()
		return err
	}
	cmd, err := p.command.run(outW, errW, lifeR)
	if err != nil {
		closeAll()
		return err
	}
	for _, f := range []*os.File{outW, errW, lifeR} {
		_ = f.Close() // the plugin's ends
	}
	p.stdout, p.stderr, p.lifeline = outR, errR, lifeW
	p.os = cmd.Process
	p.stopWatching = context.AfterFunc(p.killCtx, p.kill)
	err = limit(p.pid(), p.command.memory)
	go p.wait()
	if err != nil && !errors.Is(err, syscall.ESRCH) { // of one that has ended the handshake says so
		p.kill()
		return fmt.Errorf("bound its memory and files: %w", err)
	}
	return nil
}

func (c *command) run(stdout, stderr, lifeline *os.File) (*exec.Cmd, error) {
	for try := 0; ; try++ {
		cmd := &exec.Cmd{
			Path: c.path, Args: c.args, Env: c.env, Dir: "/",
			Stdin:  nil, // the null device
			Stdout: stdout, Stderr: stderr,
			ExtraFiles: []*os.File{lifeline}, // descriptor 3
			// A group of its own: the terminal's Ctrl-C and hang-up are the host's.
			SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		}
		err := cmd.Start()
		if err == nil {
			return cmd, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || try >= busyTries {
			return nil, err
		}
		time.Sleep(busyPause)
	}
}

func (p *process) wait() {
	endGroup(p.os.Pid)
	if p.command.mark != "" {
		endStrays(p.command.mark)
	}
	state, err := p.os.Wait()
	switch {
	case err == nil:
		p.status = state.String()
	default:
		// Whoever waits for any child in this process (Delve's native back end
		// does, wait4(-1)) may have taken the exit status: ECHILD. The process
		// has ended all the same.
		p.status = "exit status unknown"
	}
	close(p.gone)
	p.stopWatching()
	p.unkill()
	p.askToExit()
	time.AfterFunc(drainTime, func() {
		_ = p.stdout.Close()
		_ = p.stderr.Close()
	})
}

// askToExit asks the plugin to exit.
func (p *process) askToExit() {
	p.dismissed.Do(func() {
		// A byte says that the host lives: the session folder stays.
		_, _ = p.lifeline.Write([]byte{1})
		_ = p.lifeline.Close()
	})
}

// kill ends the process. It may be called at any time, more than once.
func (p *process) kill() {
	if p.os != nil {
		_ = p.os.Kill()
	}
}

// Wait implements [runner.Runner].
func (p *process) Wait(context.Context) error {
	<-p.gone
	return nil
}

// Kill implements [runner.Runner].
func (p *process) Kill(context.Context) error { p.kill(); return nil }

// Stdout implements [runner.Runner].
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr implements [runner.Runner].
func (p *process) Stderr() io.ReadCloser { return p.stderr }

// Name implements [runner.Runner].
func (p *process) Name() string { return p.command.args[0] }

// ID implements [runner.Runner].
func (p *process) ID() string { return strconv.Itoa(p.pid()) }

func (p *process) pid() int {
	if p.os == nil {
		return 0
	}
	return p.os.Pid
}

// Diagnose implements [runner.Runner]: it is asked when the first line of
// output is not the handshake.
func (p *process) Diagnose(context.Context) string {
	select {
	case <-p.gone:
		return fmt.Sprintf("it ended: %s", p.status)
	case <-time.After(drainTime):
		return "it is not an unwinder plugin for clew, or for another version of it"
	}
}

// PluginToHost implements [runner.AddrTranslator].
func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin implements [runner.AddrTranslator].
func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// baseEnv is all that a plugin gets of an environment, besides what go-plugin
// adds and the configuration says.
func baseEnv(sessionDir, socketDir string) []string {
	return []string{
		"PATH=/usr/bin:/bin",
		"LANG=C.UTF-8",
		"TMPDIR=" + socketDir,
		plugin.EnvLifeline + "=3",
		plugin.EnvSession + "=" + sessionDir,
	}
}
