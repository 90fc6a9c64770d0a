package scripts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// program is a folder of testdata, built.
type program struct {
	folder, path string
	lines        map[string]mark // by name
}

// mark is a line with a name.
type mark struct {
	file string // below the program's folder
	line int
}

var marked = regexp.MustCompile(`// @([a-z-]+)`)

// buildProgram copies the program of a suite into a folder and builds it, after its libraries.
func buildProgram(folder string, of *suite) (*program, error) {
	if err := os.CopyFS(filepath.Join(folder, of.program), os.DirFS(filepath.Join("testdata", of.program))); err != nil {
		return nil, err
	}
	p, err := programIn(folder, of)
	if err != nil {
		return nil, err
	}
	for _, command := range append(of.libraries, []string{"go", "build", "-gcflags=all=-N -l", "-o", p.path, "."}) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = p.folder
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the program: %s: %w\n%s", command[0], err, out)
		}
	}
	return p, nil
}

// programIn is the program of a suite whose source is in a folder.
func programIn(folder string, of *suite) (*program, error) {
	p := &program{folder: filepath.Join(folder, of.program), lines: make(map[string]mark)}
	p.path = filepath.Join(p.folder, "program")
	return p, filepath.WalkDir(p.folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".go", ".c", ".cc", ".rs"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, _ := filepath.Rel(p.folder, path)
		for i, line := range strings.Split(string(text), "\n") {
			if m := marked.FindStringSubmatch(line); m != nil {
				p.lines[m[1]] = mark{file, i + 1}
			}
		}
		return nil
	})
}

// name is what the table calls a line.
func (p *program) name(file string, line int) string {
	for name, m := range p.lines {
		if filepath.Base(m.file) == file && m.line == line {
			return name
		}
	}
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// requests are the protocol's names of the steps.
var requests = map[string]string{"next": "next", "step": "stepIn", "out": "stepOut"}

var errNoTarget = errors.New("not offered")

// step asks for a step.
func (s *session) step(thread int, step string) error {
	name, into := strings.CutPrefix(step, "into:")
	if !into {
		_, err := s.ask(requests[step], map[string]any{"threadId": thread})
		return err
	}
	f, err := s.top(thread)
	if err != nil {
		return err
	}
	m, err := s.ask("stepInTargets", map[string]any{"frameId": f.ID})
	if err != nil {
		return errNoTarget
	}
	var body struct {
		Targets []struct {
			ID    int
			Label string
		}
	}
	if err := m.Decode("body", &body); err != nil {
		return err
	}
	name, second := strings.CutSuffix(name, ":2")
	for _, t := range body.Targets {
		switch {
		case !strings.Contains(t.Label, name):
		case second:
			second = false
		default:
			_, err := s.ask("stepIn", map[string]any{"threadId": thread, "targetId": t.ID})
			return err
		}
	}
	return errNoTarget
}

// run runs a script, and returns where it ends: a line's name, or what happened.
func (d *debugger) run(p *program, sc *script) (string, error) {
	s, err := d.start()
	if err != nil {
		return "", err
	}
	defer s.end()
	late := false
	timer := time.AfterFunc(patience, func() { late = true; s.end() })
	defer timer.Stop()
	thread, err := s.stopAt(p, sc)
	for _, step := range sc.commands() {
		if err == nil {
			err = s.step(thread, step)
		}
		if err == nil {
			thread, err = s.stopped()
		}
	}
	switch {
	case errors.Is(err, errEnded), errors.Is(err, errNoTarget):
		return err.Error(), nil
	case late:
		return "no answer", nil
	case err != nil:
		return err.Error(), nil
	}
	file, line, err := s.place(thread)
	return p.name(file, line), err
}

// stopAt launches the program and runs it to the script's first line.
func (s *session) stopAt(p *program, sc *script) (thread int, err error) {
	at, ok := p.lines[sc.at]
	if !ok {
		return 0, fmt.Errorf("no line %q", sc.at)
	}
	set := func(lines ...map[string]any) error {
		if lines == nil {
			lines = []map[string]any{}
		}
		_, err := s.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": filepath.Join(p.folder, at.file)}, "breakpoints": lines})
		return err
	}
	if err := s.launch(p, sc.arg, func() error { return set(map[string]any{"line": at.line}) }); err != nil {
		return 0, err
	}
	if thread, err = s.stopped(); err != nil {
		return 0, err
	}
	return thread, set() // other threads may come to the line as well
}

// launch starts the program, with the breakpoints that set has set.
func (s *session) launch(p *program, arg string, set func() error) error {
	if _, err := s.ask("initialize", map[string]any{"adapterID": "x", "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path"}); err != nil {
		return err
	}
	// lldb-dap answers it only when the configuration is done.
	// Go's runtime sends itself SIGURG, which Delve passes on by itself.
	quiet := []string{"process handle SIGURG --stop false --pass true --notify false"}
	if _, err := s.Send("launch", map[string]any{
		"mode": "exec", "program": p.path, "args": []string{arg}, "cwd": p.folder, "preRunCommands": quiet, "postRunCommands": quiet,
	}); err != nil {
		return err
	}
	if _, err := s.Event("initialized"); err != nil {
		return err
	}
	if err := set(); err != nil {
		return err
	}
	_, err := s.ask("configurationDone", map[string]any{})
	return err
}

// buildDebuggers builds dlv and clew, and finds lldb-dap.
func buildDebuggers(folder string, only string) (list []debugger, err error) {
	for name, build := range map[string]func(string) error{"dlv": testkit.BuildDlv, "clew": testkit.BuildClew} {
		if only != "" && only != name {
			continue
		}
		d := goDebugger(folder, name)
		if err := build(d.path); err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	for _, name := range []string{"lldb-dap", "lldb-dap-19", "lldb-vscode-14"} {
		if path, err := exec.LookPath(name); err == nil && (only == "" || only == "lldb") {
			list = append(list, debugger{name: "lldb", path: path})
			break
		}
	}
	return list, nil
}

// goDebugger is dlv or clew, built in a folder.
func goDebugger(folder, name string) debugger {
	return debugger{name: name, path: filepath.Join(folder, name), args: []string{"dap", "--listen=127.0.0.1:0"}, tcp: true}
}
