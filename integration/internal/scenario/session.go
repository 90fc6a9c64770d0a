package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// Session is an editor's session that is played from a file.
type Session struct {
	*dapwiretest.Client
	abs    func(string) string // paths of the script
	vars   map[string]string   // of the script and the session
	all    []*dapwire.Message  // everything that came
	last   *dapwire.Message    // the last answer
	frames []frame             // of the last stack
	wrong  []error             // what was not as it should be, so far
}

type frame struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	PC   string `json:"instructionPointerReference"`
}

func newSession(conn io.ReadWriteCloser, env []string, abs func(string) string) *Session {
	s := &Session{Client: dapwiretest.NewClient(conn), abs: abs, vars: make(map[string]string)}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		s.vars[name] = value
	}
	s.Patience = testkit.Patience
	s.Seen = func(m *dapwire.Message) { s.all = append(s.all, m) }
	return s
}

func (s *Session) transcript() string {
	var b strings.Builder
	for _, m := range s.all {
		fmt.Fprintf(&b, "%.2000s\n", m.Bytes())
	}
	return b.String()
}

// play plays each line. A request that fails ends it; values that are wrong are told together at its end.
func (s *Session) play(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := s.each(line); err != nil {
			return errors.Join(append(s.wrong, fmt.Errorf("line %d, %s: %w", n, line, err))...)
		}
	}
	return errors.Join(s.wrong...)
}

// each does a line, or lines for each of some words.
func (s *Session) each(line string) error {
	words, lines, _ := strings.Cut(line, " : ")
	words, ok := strings.CutPrefix(words, "each ")
	if !ok {
		return s.do(s.expand(line))
	}
	for _, s.vars["it"] = range strings.Fields(words) {
		for l := range strings.SplitSeq(lines, " ; ") {
			if err := s.do(s.expand(l)); err != nil {
				return fmt.Errorf("%s: %w", s.vars["it"], err)
			}
		}
	}
	return nil
}

var variable = regexp.MustCompile(`\$(\w+)`)

func (s *Session) expand(line string) string {
	return variable.ReplaceAllStringFunc(line, func(name string) string {
		if v, ok := s.vars[name[1:]]; ok {
			return v
		}
		return name
	})
}

// aboutThread are requests that are about the thread that has stopped last, where they do not say which.
var aboutThread = []string{"continue", "next", "stepIn", "stepOut", "pause", "exceptionInfo"}

func (s *Session) do(line string) error {
	if expression, want, ok := strings.Cut(line, " => "); ok {
		if e, ok := strings.CutPrefix(expression, "write "); ok {
			expression = e
			if err := s.request("", "setExpression", object{"expression": e, "value": want, "frameId": s.number("frame")}); err != nil {
				return err
			}
		}
		return s.value(expression, want, func(got string) bool { return got == want })
	}
	if expression, want, ok := strings.Cut(line, " =~ "); ok {
		re, err := regexp.Compile(want)
		if err != nil {
			return err
		}
		return s.value(expression, want, re.MatchString)
	}
	must, rest := "", line
	if before, after, ok := strings.Cut(line, " "); ok && (before == "!" || before == "?") {
		must, rest = before, after
	}
	verb, rest, _ := strings.Cut(rest, " ")
	words := strings.Fields(rest)
	switch verb {
	case "~", "!~":
		re, err := regexp.Compile(rest)
		if err == nil && re.Match(s.last.Bytes()) != (verb == "~") {
			err = fmt.Errorf("it is %.3000s", s.last.Bytes())
		}
		return err
	case "save":
		v, err := s.part(words[1])
		s.vars[words[0]] = v
		return err
	case "launch", "begin":
		if strings.HasPrefix(rest, "{") {
			break
		}
		return s.launch(verb == "launch", rest)
	case "break":
		return s.breakAt(words[0], words[1:])
	case "stopped":
		return s.stopped(rest)
	case "stack":
		start, _ := strconv.Atoi(words[0])
		levels, err := strconv.Atoi(words[1])
		return errors.Join(err, s.stack(start, levels))
	case "frame":
		return s.frame(rest)
	case "scope":
		return s.scope(rest)
	case "event":
		m, err := s.Event(rest)
		s.last = m
		return err
	case "output":
		return s.output(rest)
	case "capture":
		re, err := regexp.Compile(strings.TrimSpace(strings.TrimPrefix(rest, words[0])))
		if err != nil {
			return err
		}
		m := re.FindSubmatch(s.last.Bytes())
		if m == nil {
			return fmt.Errorf("it is %.3000s", s.last.Bytes())
		}
		s.vars[words[0]] = string(m[1])
		return nil
	case "functions":
		var names []string
		for i := range s.frames {
			names = append(names, s.frames[i].Name)
		}
		if re, err := regexp.Compile(rest); err != nil || !re.MatchString(strings.Join(names, " ")) {
			return errors.Join(err, fmt.Errorf("they are %s", strings.Join(names, " ")))
		}
		return nil
	case "vars", "children":
		return s.variables(verb, words)
	case "own":
		if s.number("frame") < clews {
			return errors.New("the frame is Delve's")
		}
		return nil
	case "thread":
		return s.standsIn(rest)
	case "logged":
		return s.logged(rest)
	case "stacks":
		return s.stacks(rest)
	case "console":
		return s.request(must, "evaluate", object{"expression": rest, "frameId": s.number("frame"), "context": "repl"})
	case "inspect":
		return s.inspect()
	case "end":
		return s.end()
	}
	var arguments any
	switch {
	case rest != "":
		d := json.NewDecoder(strings.NewReader(rest))
		d.UseNumber() // some are larger than a float64 holds
		if err := d.Decode(&arguments); err != nil {
			return err
		}
	case verb == "initialize":
		arguments = introduction
	case slices.Contains(aboutThread, verb):
		arguments = object{"threadId": s.number("thread")}
	}
	return s.request(must, verb, arguments)
}

type object = map[string]any

// introduction is how an editor introduces itself.
var introduction = object{
	"clientID": "test", "adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true,
	"supportsVariableType": true, "supportsVariablePaging": true, "supportsRunInTerminalRequest": true, "locale": "en-us",
}

func (s *Session) number(name string) int64 {
	n, _ := strconv.ParseInt(s.vars[name], 10, 64)
	return n
}

// request sends a request that must succeed, must not (!), or may (?).
func (s *Session) request(must, command string, arguments any) (err error) {
	if s.last, err = s.Request(command, arguments); err != nil {
		return err
	}
	if command == "disconnect" {
		defer func() { err = errors.Join(err, s.drain()) }()
	}
	if must != "?" && s.last.Success == (must == "!") {
		return fmt.Errorf("the answer is %.3000s", s.last.Bytes())
	}
	return nil
}

// value compares a value in the selected frame.
func (s *Session) value(expression, want string, is func(got string) bool) error {
	if err := s.request("?", "evaluate", object{"expression": expression, "frameId": s.number("frame"), "context": "watch"}); err != nil {
		return err
	}
	got := string(s.last.Bytes())
	if s.last.Success {
		var body struct{ Result string }
		if err := s.last.Decode("body", &body); err != nil {
			return err
		}
		got = body.Result
	}
	if !is(got) {
		s.wrong = append(s.wrong, fmt.Errorf("%s is %s, want %s", expression, got, want))
	}
	return nil
}

// part is a part of the last answer's body, by names and indexes with points between.
func (s *Session) part(path string) (string, error) {
	var v any
	if err := s.last.Decode("body", &v); err != nil {
		return "", err
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case object:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if name, value, ok := strings.Cut(step, "="); ok {
				i = slices.IndexFunc(at, func(e any) bool { o, _ := e.(object); return fmt.Sprint(o[name]) == value })
				err = nil
			}
			if err != nil || i < 0 || i >= len(at) {
				return "", fmt.Errorf("no %s in %v", step, at)
			}
			v = at[i]
		default:
			return "", fmt.Errorf("no %s in %.2000s", path, s.last.Bytes())
		}
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		return "", fmt.Errorf("no %s in %.2000s", path, s.last.Bytes())
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func (s *Session) launch(run bool, rest string) error {
	rest, more, _ := strings.Cut(rest, " {")
	words := strings.Fields(rest)
	path := words[0]
	if found, err := exec.LookPath(s.abs(path)); err == nil {
		path = found
	}
	arguments := object{"mode": "exec", "program": path, "args": words[1:], "outputMode": "remote"}
	if more != "" {
		if err := json.Unmarshal([]byte("{"+more), &arguments); err != nil {
			return err
		}
	}
	if err := errors.Join(s.request("", "initialize", introduction), s.request("", "launch", arguments)); err != nil {
		return err
	}
	if _, err := s.Event("initialized"); err != nil || !run {
		return err
	}
	if err := s.request("", "configurationDone", nil); err != nil {
		return err
	}
	return s.stopped("")
}

func (s *Session) breakAt(file string, lines []string) error {
	list := []object{}
	for _, l := range lines {
		n, err := strconv.Atoi(l)
		if err != nil {
			return err
		}
		list = append(list, object{"line": n})
	}
	return s.request("", "setBreakpoints", object{"source": object{"path": s.abs(file)}, "breakpoints": list})
}

func (s *Session) stopped(reason string) error {
	m, err := s.Event("stopped", "terminated")
	if err != nil || m.Event == "terminated" {
		return errors.Join(err, errors.New("the program has ended"))
	}
	s.last = m
	var body struct {
		ThreadID int64
		Reason   string
	}
	if err := m.Decode("body", &body); err != nil {
		return err
	}
	if reason != "" && reason != body.Reason {
		return fmt.Errorf("it has stopped for %s", m.Bytes())
	}
	s.vars["thread"] = fmt.Sprint(body.ThreadID)
	if err := s.stack(0, 50); err != nil {
		return err
	}
	s.last = m
	return nil
}

// output waits until all that the program has written so far matches.
func (s *Session) output(want string) error {
	re, err := regexp.Compile("(?m)" + want)
	if err != nil {
		return err
	}
	for from, written := 0, ""; ; {
		for ; from < len(s.all); from++ {
			var body struct{ Output string }
			if m := s.all[from]; m.Event == "output" && m.Decode("body", &body) == nil {
				written += body.Output
			}
		}
		if re.MatchString(written) {
			return nil
		}
		if _, err := s.Find(func(m *dapwire.Message) bool { return m.Event == "output" }); err != nil {
			return fmt.Errorf("%w: %q", err, written)
		}
	}
}

var logMessage = regexp.MustCompile(`^> \[Go \d+\]: `)

// logged compares what breakpoints have logged, all on $line where that is set.
func (s *Session) logged(want string) error {
	var got []string
	for _, m := range s.all {
		var body struct {
			Output string
			Line   int
		}
		if m.Event != "output" || m.Decode("body", &body) != nil || !logMessage.MatchString(body.Output) {
			continue
		}
		if line := s.vars["line"]; line != "" && line != strconv.Itoa(body.Line) {
			return fmt.Errorf("not on line %s: %s", line, m.Bytes())
		}
		got = append(got, strings.TrimSuffix(logMessage.ReplaceAllString(body.Output, ""), "\n"))
	}
	if all := strings.Join(got, " | "); all != want {
		return fmt.Errorf("it has logged %s", all)
	}
	return nil
}

// end ends the session and the program.
func (s *Session) end() error {
	return s.request("?", "disconnect", object{"terminateDebuggee": true})
}

// drain reads to the end of the connection.
func (s *Session) drain() error {
	for {
		if _, err := s.Read(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// clews is where clew's own references begin.
const clews = 1 << 30

// inspect asks for all that an editor shows at a stop, and for what is not there.
func (s *Session) inspect() error {
	err := s.request("", "threads", nil)
	for _, page := range [][2]int{{1, 19}, {0, 0}, {100, 5}, {0, 2}} {
		err = errors.Join(err, s.stack(page[0], page[1]))
	}
	for i := range s.frames {
		id := s.frames[i].ID
		err = errors.Join(err, s.request("", "scopes", object{"frameId": id}))
		var body struct {
			Scopes []struct{ VariablesReference int64 }
		}
		if err != nil || s.last.Decode("body", &body) != nil {
			return err
		}
		for _, scope := range body.Scopes {
			if scope.VariablesReference < clews {
				err = errors.Join(err, s.request("", "variables", object{"variablesReference": scope.VariablesReference}))
			}
		}
		for _, expression := range []string{"p", "p.X", "total", "list[1]", "nothing", "1+"} {
			err = errors.Join(err, s.request("?", "evaluate", object{"expression": expression, "frameId": id, "context": "watch"}))
		}
	}
	return errors.Join(err, s.request("?", "scopes", object{"frameId": 999999}), s.request("?", "variables", object{"variablesReference": 999999}), s.frame("0"))
}
