package delve

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/pkg/logflags"
)

// SetupLogging sets up Delve's logs as its --log, --log-output and --log-dest
// flags say. It must come before the first log.
func SetupLogging(on bool, output, dest string) error {
	if err := logflags.Setup(on, output, dest); err != nil {
		return err
	}
	logging.Store(true)
	if on {
		if output == "" {
			output = "debugger"
		}
		debuggerLogs.Store(slices.Contains(strings.Split(output, ","), "debugger"))
	}
	installHook()
	return nil
}

// CloseLogs closes the log's destination.
func CloseLogs() { logflags.Close() }

// LogConfigError logs that Delve's configuration cannot be read, if so.
func LogConfigError() {
	if _, err := config.LoadConfig(); err != nil {
		logflags.DebuggerLogger().Errorf("%v", err)
	}
}

// AnnounceDAP tells the user, or the editor that reads it, where the server
// listens: the line that Delve writes, where Delve writes it.
func AnnounceDAP(addr net.Addr) { logflags.WriteDAPListeningMessage(addr) }

// LogDialError logs that a client cannot be reached, as Delve does.
func LogDialError(addr string, err error) {
	logflags.RPCLogger().Errorf("error dialing %s: %v", addr, err)
}

// LogDAPError logs an error of the DAP layer.
func LogDAPError(format string, args ...any) { logflags.DAPLogger().Errorf(format, args...) }

// LogDAP logs what is of interest with --log-output=dap.
func LogDAP(format string, args ...any) { logflags.DAPLogger().Debugf(format, args...) }

// LogRPCError logs an error of the JSON-RPC layer.
func LogRPCError(format string, args ...any) { logflags.RPCLogger().Errorf(format, args...) }

// LogRPC logs what is of interest with --log-output=rpc.
func LogRPC(format string, args ...any) { logflags.RPCLogger().Debugf(format, args...) }

// logging says that logs were set up. Until then nothing is written, errors
// included: clew's own commands report errors themselves.
var logging atomic.Bool

// debuggerLogs says that the debugger layer's logs were asked for; the layer
// itself logs in any case, for the hook.
var debuggerLogs atomic.Bool

// level is how much a logger writes.
type level int

const (
	levelDebug level = iota
	levelInfo
	levelWarn
	levelError
	levelNone
)

var levelNames = map[level]string{levelDebug: "debug", levelInfo: "info", levelWarn: "warn", levelError: "error"}

// textLogger writes lines as Delve's own logger does, which cannot be had beside
// a logger factory.
type textLogger struct {
	hook   *hook // nil for layers that it does not listen to
	least  level
	fields logflags.Fields
	out    io.Writer
}

func newTextLogger(flag bool, fields logflags.Fields, out io.Writer) *textLogger {
	// Delve makes a logger for every frame of a walk: nothing is done here that
	// only matters where something is written.
	l := &textLogger{least: levelError, fields: fields, out: out}
	if isDebuggerLayer(fields) {
		flag = flag && debuggerLogs.Load()
	}
	switch {
	case !logging.Load():
		l.least = levelNone
	case flag:
		l.least = levelDebug
	}
	return l
}

// attributes are what a line begins with.
func (l *textLogger) attributes() string {
	names := make([]string, 0, len(l.fields))
	for name := range l.fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		names[i] = name + "=" + quoted(fmt.Sprint(l.fields[name]))
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ",") + " "
}

func isDebuggerLayer(fields logflags.Fields) bool { return fields["layer"] == "debugger" }

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

func (l *textLogger) write(at level, text func() string) {
	if at < l.least {
		return
	}
	out := l.out
	if out == nil {
		out = os.Stderr
	}
	_, _ = fmt.Fprintf(out, "%s %s %s%s\n", time.Now().Format(time.RFC3339), levelNames[at], l.attributes(), text())
}

func (l *textLogger) Debugf(format string, args ...any) {
	if l.hook != nil {
		moments.Add(1)
		switch format {
		case stopMoment:
			l.hook.stopped()
		case resumeMoment:
			l.hook.resuming()
			moments.Add(1) // what was read for it is old when the target has run
		}
	}
	l.write(levelDebug, func() string { return fmt.Sprintf(format, args...) })
}

func (l *textLogger) Infof(format string, args ...any) {
	if l.hook != nil && format == launchMoment && len(args) == 1 {
		if command, ok := args[0].([]string); ok && len(command) > 0 {
			l.hook.launching(command[0])
		}
	}
	l.write(levelInfo, func() string { return fmt.Sprintf(format, args...) })
}

func (l *textLogger) Warnf(format string, args ...any) {
	l.write(levelWarn, func() string { return fmt.Sprintf(format, args...) })
}

func (l *textLogger) Errorf(format string, args ...any) {
	l.write(levelError, func() string { return fmt.Sprintf(format, args...) })
}

func (l *textLogger) Debug(args ...any) {
	if l.hook != nil {
		moments.Add(1) // each of the debugger's commands is logged before it is done
		if len(args) == 1 && args[0] == detachMoment {
			l.hook.detaching()
		}
	}
	l.write(levelDebug, func() string { return fmt.Sprint(args...) })
}

func (l *textLogger) Info(args ...any) {
	l.write(levelInfo, func() string { return fmt.Sprint(args...) })
}

func (l *textLogger) Warn(args ...any) {
	l.write(levelWarn, func() string { return fmt.Sprint(args...) })
}

func (l *textLogger) Error(args ...any) {
	l.write(levelError, func() string { return fmt.Sprint(args...) })
}
