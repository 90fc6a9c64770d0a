package pluginhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// goPluginLogger is a logger for go-plugin that writes to l. Lines of the
// plugin's standard error come through it too, with the level that they name.
func goPluginLogger(l *slog.Logger) hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Trace})
	logger.RegisterSink(sink{l})
	return logger
}

type sink struct{ to *slog.Logger }

// Accept implements [hclog.SinkAdapter].
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	switch level {
	case hclog.Info:
		to = slog.LevelInfo
	case hclog.Warn:
		to = slog.LevelWarn
	case hclog.Error:
		to = slog.LevelError
	case hclog.NoLevel, hclog.Trace, hclog.Debug, hclog.Off:
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
	}
	s.to.Log(context.Background(), to, msg, args...)
}

// lineWriter logs the whole lines that a plugin writes to os.Stdout or os.Stderr
// once it serves; go-plugin sends that over the connection.
type lineWriter struct {
	to   *slog.Logger
	mu   sync.Mutex
	part []byte
}

// maxLine bounds the buffer for a line that does not end.
const maxLine = 64 << 10

// Write implements [io.Writer].
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	for {
		line, rest, ok := bytes.Cut(w.part, []byte{'\n'})
		if !ok {
			break
		}
		w.to.Debug(string(line))
		w.part = rest
	}
	if len(w.part) > maxLine {
		w.to.Debug(string(w.part))
		w.part = nil
	}
	return len(p), nil
}
