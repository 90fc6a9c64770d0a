package scripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// breakLibraries are the libraries of testdata/breaks.
var breakLibraries = [][]string{
	{"g++", "-shared", "-fPIC", "-g", "-O0", "-pthread", "-o", "lib/libplain.so", "lib/plain.cc"},
	{"g++", "-shared", "-fPIC", "-g", "-O2", "-o", "lib/libfast.so", "lib/fast.cc"},
	{"gcc", "-shared", "-fPIC", "-O1", "-s", "-o", "lib/libbare.so", "lib/bare.c"},
	{"g++", "-shared", "-fPIC", "-g", "-O0", "-o", "lib/libplug.so", "lib/plug.cc"},
}

// showBreaks runs the breakpoints and prints the table, or writes it into a file.
func showBreaks(only, into string, wanted *regexp.Regexp) error {
	folder, err := os.MkdirTemp("", "stepscripts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	of := suites["breaks"]
	p, err := buildProgram(folder, of)
	if err != nil {
		return err
	}
	list, err := buildDebuggers(folder, only)
	if err != nil {
		return err
	}
	asked := make(map[string]func(*program, *breakScript) (string, error))
	for i := range list {
		asked[list[i].name] = list[i].breakAt
	}
	if gdb, err := exec.LookPath("gdb"); err == nil && (only == "" || only == "gdb") {
		asked["gdb"] = func(p *program, sc *breakScript) (string, error) { return breakInGDB(gdb, p, sc) }
	}
	t := &table{right: make(map[string]int), head: []string{"breakpoint", "at", "expected"}}
	for _, name := range []string{"dlv", "lldb", "gdb", "clew"} {
		if asked[name] != nil {
			t.names = append(t.names, name)
		}
	}
	for i := range breakScripts {
		sc := &breakScripts[i]
		if !wanted.MatchString(sc.does) {
			continue
		}
		err := t.add([]string{sc.does, sc.line + sc.name, sc.want}, func(name string) (string, error) { return asked[name](p, sc) })
		if err != nil {
			return fmt.Errorf("%s: %w", sc.does, err)
		}
	}
	return t.finish(into, of.begin)
}

// maxStops bounds the stops of one breakpoint.
const maxStops = 8

// breakAt runs a breakpoint, and returns the lines where the program stops.
func (d *debugger) breakAt(p *program, sc *breakScript) (string, error) {
	s, err := d.start()
	if err != nil {
		return "", err
	}
	defer s.end()
	late := false
	timer := time.AfterFunc(patience, func() { late = true; s.end() })
	defer timer.Stop()
	var out []string
	err = s.launch(p, "", func() error {
		b := map[string]any{}
		if sc.hits != "" {
			b["hitCondition"] = sc.hits
		}
		if sc.name != "" {
			b["name"] = sc.name
			_, err := s.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []map[string]any{b}})
			return err
		}
		at := p.lines[sc.line]
		b["line"] = at.line
		_, err := s.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": filepath.Join(p.folder, at.file)}, "breakpoints": []map[string]any{b}})
		return err
	})
	for err == nil && len(out) < maxStops {
		var thread int
		if thread, err = s.stopped(); err == nil {
			var at string
			if at, err = s.stopAtBreak(p, sc, thread, len(out) == 0); err == nil {
				out = append(out, at)
				_, err = s.ask("continue", map[string]any{"threadId": thread})
			}
		}
	}
	switch {
	case err == nil, errors.Is(err, errEnded):
	case late:
		out = append(out, "no answer")
	default:
		out = append(out, err.Error())
	}
	return strings.Join(out, " "), nil
}

// stopAtBreak says where a thread has stopped, and what the script's variable is.
func (s *session) stopAtBreak(p *program, sc *breakScript, thread int, first bool) (string, error) {
	f, err := s.top(thread)
	if err != nil {
		return "", err
	}
	at := f.Name
	if f.Source.Path != "" && f.Line > 0 {
		at = p.name(filepath.Base(f.Source.Path), f.Line)
	}
	if sc.shows == "" || !first {
		return at, nil
	}
	value := "?"
	if m, err := s.ask("evaluate", map[string]any{"expression": sc.shows, "frameId": f.ID, "context": "watch"}); err == nil {
		var body struct{ Result string }
		if m.Decode("body", &body) == nil {
			value = body.Result
		}
	}
	return fmt.Sprintf("%s %s=%s", at, sc.shows, value), nil
}

// What gdb prints where it stops.
var (
	gdbStop  = regexp.MustCompile(`(?m)^(?:Thread \d+ "[^"]*" hit )?(?:Temporary b|B)reakpoint [\d.]+, (?:0x[0-9a-f]+ in )?([^\n]*?) \([^\n]*(?:\n    [^\n]*)*`)
	gdbPlace = regexp.MustCompile(` at (\S+):(\d+)`)
	gdbValue = regexp.MustCompile(`(?m)^\$\d+ = (.*)$`)
)

// breakInGDB does the same with gdb's commands.
func breakInGDB(gdb string, p *program, sc *breakScript) (string, error) {
	at := sc.name
	if at == "" {
		at = fmt.Sprintf("%s:%d", filepath.Base(p.lines[sc.line].file), p.lines[sc.line].line)
	}
	args := []string{"-nx", "-q", "-batch", "-iex", "set debuginfod enabled off"}
	do := func(commands ...string) {
		for _, c := range commands {
			args = append(args, "-ex", c)
		}
	}
	do("set breakpoint pending on", "set width 0", "handle SIGURG nostop noprint pass", "break "+at)
	if sc.hits != "" {
		n, err := strconv.Atoi(sc.hits)
		if err != nil {
			return "", err
		}
		do(fmt.Sprintf("ignore 1 %d", n-1))
	}
	do("run")
	if sc.shows != "" {
		do("print " + sc.shows)
	}
	for range maxStops {
		do("continue")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, gdb, append(args, p.path)...)
	cmd.Dir, cmd.WaitDelay = p.folder, time.Second
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "no answer", nil
	}
	var out []string
	for _, stop := range gdbStop.FindAllSubmatch(text, -1) {
		name := string(stop[1])
		if place := gdbPlace.FindSubmatch(stop[0]); place != nil {
			line, _ := strconv.Atoi(string(place[2]))
			name = p.name(filepath.Base(string(place[1])), line)
		}
		out = append(out, name)
	}
	if value := gdbValue.FindSubmatch(text); value != nil && sc.shows != "" && len(out) > 0 {
		out[0] = fmt.Sprintf("%s %s=%s", out[0], sc.shows, value[1])
	}
	if len(out) == 0 && err != nil && bytes.Contains(text, []byte("No symbol table")) {
		return "", err
	}
	return strings.Join(out, " "), nil
}
