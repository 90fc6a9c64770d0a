package delvelog

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/go-delve/delve/pkg/logflags"

	"github.com/clewdbg/clew/server/delve/internals"
)

// TestLaunchLine: only the line that Delve logs before it starts a program announces
// one, whether it is written or not.
func TestLaunchLine(t *testing.T) {
	defer heard.Store(nil)
	var told []string
	heard.Store(&Heard{Launch: func(path string) { told = append(told, path) }})
	l := newTextLogger(false, logflags.Fields{"layer": "debugger"}, &bytes.Buffer{})
	l.Infof("launching %v", []string{"/a"})
	l.Infof("%s", internals.LaunchLog)
	l.Infof(internals.LaunchLog, "/b")
	l.Infof(internals.LaunchLog, []string{})
	l.Debugf(internals.LaunchLog, []string{"/c"})
	l.Infof(internals.LaunchLog, []string{"/d", "argument"})
	l.Infof(internals.LaunchLog, []string{"e"})
	if len(told) != 2 || told[0] != "/d" || told[1] != "e" {
		t.Errorf("%q", told)
	}
	heard.Store(nil)
	l.Infof(internals.LaunchLog, []string{"/f"}) // no one is to be told
}

// TestLogLines: lines are written as Delve writes them, from the level on that was
// asked for.
func TestLogLines(t *testing.T) {
	was := logging.Swap(true)
	defer logging.Store(was)
	var out bytes.Buffer
	fields := logflags.Fields{"layer": "dap", "kind": "a b"}
	all := func(l *textLogger) string {
		out.Reset()
		l.Debugf("%d", 1)
		l.Debug("2", "3")
		l.Infof("%d", 4)
		l.Info(5)
		l.Warnf("%d", 6)
		l.Warn(7)
		l.Errorf("%d", 8)
		l.Error(9)
		return regexp.MustCompile(`(?m)^\S+ `).ReplaceAllString(out.String(), "")
	}
	if got, want := all(newTextLogger(false, fields, &out)), "error kind=\"a b\",layer=dap 8\nerror kind=\"a b\",layer=dap 9\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := all(newTextLogger(true, nil, &out)); got != "debug 1\ndebug 23\ninfo 4\ninfo 5\nwarn 6\nwarn 7\nerror 8\nerror 9\n" {
		t.Errorf("%q", got)
	}
	logging.Store(false)
	if got := all(newTextLogger(true, fields, &out)); got != "" {
		t.Errorf("before logs were set up: %q", got)
	}
}
