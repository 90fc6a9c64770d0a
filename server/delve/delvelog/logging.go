package delvelog

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/pkg/logflags"

	"github.com/clewdbg/clew/server/delve/internals"
)

// SetupLogging sets up Delve's logs as its --log, --log-output and --log-dest
// flags say. It must come before the first log.
func Setup(on bool, output, dest string) error {
	if err := logflags.Setup(on, output, dest); err != nil {
		return err
	}
	logging.Store(true)
	installLogger()
	return nil
}

// CloseLogs closes the log's destination.
func Close() { logflags.Close() }

// LogConfigError logs that Delve's configuration cannot be read, if so.
func ConfigError() {
	if _, err := config.LoadConfig(); err != nil {
		logflags.DebuggerLogger().Errorf("%v", err)
	}
}

// AnnounceDAP tells the user, or the editor that reads it, where the server
// listens: the line that Delve writes, where Delve writes it.
func AnnounceDAP(addr net.Addr) { logflags.WriteDAPListeningMessage(addr) }

// LogDialError logs that a client cannot be reached, as Delve does.
func DialError(addr string, err error) {
	logflags.RPCLogger().Errorf("error dialing %s: %v", addr, err)
}

// LogDAPError logs an error of the DAP layer, perhaps before the first session has begun.
func DAPError(format string, args ...any) {
	installLogger()
	logflags.DAPLogger().Errorf(format, args...)
}

// LogDAP logs details, with --log-output=dap.
func DAP(format string, args ...any) { logflags.DAPLogger().Debugf(format, args...) }

// LogRPCError logs an error of the JSON-RPC layer.
func RPCError(format string, args ...any) { logflags.RPCLogger().Errorf(format, args...) }

// LogRPC logs details, with --log-output=rpc.
func RPC(format string, args ...any) { logflags.RPCLogger().Debugf(format, args...) }

// logging says that logs were set up. Until then nothing is written, errors
// included: clew's own commands report errors themselves.
var logging atomic.Bool

// installLogger has Delve log through clew, which learns of a program that is about
// to be started from the line that is logged then ([Hear]): a program
// that is built first has its name only there.
var installLogger = sync.OnceFunc(func() {
	logflags.SetLoggerFactory(func(flag bool, fields logflags.Fields, out io.Writer) logflags.Logger {
		return newTextLogger(flag, fields, out)
	})
})

// Heard are told what Delve logs of what it is about to do. They are called on Delve's goroutine.
type Heard struct {
	Launch func(path string) // a program is about to be started
	Attach func()            // a process is about to be attached to
	Target func(pid int)     // the executable of a process was read
}

var heard atomic.Pointer[Heard]

// Hear has functions told from now on, and has Delve log through clew.
func Hear(h *Heard) {
	heard.Store(h)
	installLogger()
}

// levelNone is above every level.
const levelNone = slog.LevelError + 1

// textLogger writes lines as Delve's own logger does, which cannot be had beside
// a logger factory.
type textLogger struct {
	least  slog.Level
	fields logflags.Fields
	out    io.Writer
}

func newTextLogger(flag bool, fields logflags.Fields, out io.Writer) *textLogger {
	// Delve makes a logger for every frame of a walk: nothing is done here that
	// only matters where something is written.
	l := &textLogger{least: slog.LevelError, fields: fields, out: out}
	switch {
	case !logging.Load():
		l.least = levelNone
	case flag:
		l.least = slog.LevelDebug
	}
	return l
}

// attributes are what a line begins with.
func (l *textLogger) attributes() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		list = append(list, name+"="+quoted(fmt.Sprint(l.fields[name])))
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ",") + " "
}

// quoted quotes a value with unusual characters.
func quoted(s string) string {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._/@^+", c):
		default:
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// write writes a line; without a format it has the arguments as they are.
func (l *textLogger) write(at slog.Level, format string, args []any) {
	if at < l.least {
		return
	}
	out, text := l.out, fmt.Sprint(args...)
	if format != "" {
		text = fmt.Sprintf(format, args...)
	}
	if out == nil {
		out = os.Stderr
	}
	_, _ = fmt.Fprintf(out, "%s %s %s%s\n", time.Now().Format(time.RFC3339), strings.ToLower(at.String()), l.attributes(), text)
}

func (l *textLogger) Infof(format string, args ...any) {
	switch h := heard.Load(); {
	case h == nil:
	case format == internals.LaunchLog && len(args) == 1:
		if command, ok := args[0].([]string); ok && len(command) > 0 {
			h.Launch(command[0])
		}
	case format == internals.AttachLog:
		h.Attach()
	}
	l.write(slog.LevelInfo, format, args)
}

func (l *textLogger) Debugf(format string, args ...any) {
	if h := heard.Load(); h != nil && format == internals.TargetLog && len(args) == 2 {
		if pid, ok := args[0].(int); ok {
			h.Target(pid)
		}
	}
	l.write(slog.LevelDebug, format, args)
}

func (l *textLogger) Warnf(format string, args ...any)  { l.write(slog.LevelWarn, format, args) }
func (l *textLogger) Errorf(format string, args ...any) { l.write(slog.LevelError, format, args) }
func (l *textLogger) Debug(args ...any)                 { l.write(slog.LevelDebug, "", args) }
func (l *textLogger) Info(args ...any)                  { l.write(slog.LevelInfo, "", args) }
func (l *textLogger) Warn(args ...any)                  { l.write(slog.LevelWarn, "", args) }
func (l *textLogger) Error(args ...any)                 { l.write(slog.LevelError, "", args) }
