package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/clewdbg/clew/unwind/wire"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// exitGrace is how long a plugin may take to exit when it is asked to.
const exitGrace = 200 * time.Millisecond

// instance is one running process of a plugin, with the connection to it.
type instance struct {
	process *process
	manager *goplugin.Client
	client  *wire.Client
}

// launch starts a process and connects to it. On an error nothing is left
// running.
func launch(killCtx context.Context, sess *session, c *Config, cmd command, limit time.Duration, logger *slog.Logger) (*instance, error) {
	// go-plugin's own limit ends with the handshake: where the process stalls
	// after it, gRPC would wait 20 seconds for the connection.
	killCtx, kill := context.WithCancel(killCtx)
	overdue := time.AfterFunc(limit, kill)
	defer overdue.Stop()
	in := &instance{process: &process{killCtx: killCtx, unkill: kill, gone: make(chan struct{})}}
	started, begin := false, time.Now()
	in.manager = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  plugin.Handshake,
		Plugins:          plugin.Set(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, // the default is net/rpc
		GRPCDialOptions:  plugin.DialOptions(),
		SkipHostEnv:      true,
		StartTimeout:     limit,
		Logger:           goPluginLogger(logger),
		SyncStdout:       &lineWriter{to: logger},
		SyncStderr:       &lineWriter{to: logger},
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: sess.dir},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, socketDir string) (runner.Runner, error) {
			cmd.env = append(append(baseEnv(sess.dir, socketDir), spec.Env...), c.Env...)
			if !c.builtin() && socketDir != "" {
				cmd.mark = "TMPDIR=" + socketDir
			}
			in.process.command = cmd
			started = true
			return in.process, nil
		},
	})
	protocol, err := in.manager.Client()
	if err == nil {
		var raw any
		if raw, err = protocol.Dispense(plugin.Name); err == nil {
			in.client = raw.(*wire.Client) // what plugin.Set dispenses
			return in, nil
		}
	}
	failure := &StartError{Plugin: c.Name, Path: cmd.args[0], Err: err}
	if !started || in.process.os == nil { // go-plugin has no process to wait for
		failure.permanent = errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOEXEC)
		return nil, failure
	}
	if ended, status := in.ended(); ended && time.Since(begin) < limit { // later it was killed: another try would take as long
		failure.Err = fmt.Errorf("%w: %w", &CrashError{Plugin: c.Name, Status: status}, err)
	}
	in.stop(0)
	return nil, failure
}

// stop ends the process, after a time of grace if it has one, and returns when
// everything that belongs to it is gone.
func (in *instance) stop(grace time.Duration) {
	if grace > 0 {
		in.process.askToExit()
		select {
		case <-in.process.gone:
		case <-time.After(grace):
		}
	}
	in.process.kill()
	<-in.process.gone
	// go-plugin asks a plugin to exit and waits for up to two seconds. The process has
	// ended, so this is quick. It removes the socket's folder.
	in.manager.Kill()
}

// ended says whether and how the process ended. A broken connection is noticed
// a moment before the process's end.
func (in *instance) ended() (bool, string) {
	select {
	case <-in.process.gone:
		return true, in.process.status
	case <-time.After(50 * time.Millisecond):
		return false, "connection lost"
	}
}

// prepare finds out what to run for a plugin.
func prepare(sess *session, c *Config) (command, error) {
	var cmd command
	var err error
	shown := c.Path
	if c.builtin() {
		cmd.path, shown, err = selfPath()
		cmd.args = []string{shown, "plugin", c.Name}
	} else {
		cmd.path, err = stage(sess.dir, c)
		cmd.args = append([]string{c.Path}, c.Args...)
		cmd.memory = uint64(cmp.Or(c.MemoryMiB, defaultMemoryMiB)) << 20
	}
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w (it must be readable)", err)
		}
		return command{}, &StartError{Plugin: c.Name, Path: shown, Err: err, permanent: true}
	}
	return cmd, nil
}
