package scenario

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	variants "github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// Run runs the archives of a folder, each as a test. clew is in the work folder of testkit.
func Run(t *testing.T, folder string) {
	testscript.Run(t, testscript.Params{
		Dir:                folder,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			root, err := testkit.Root()
			if err != nil {
				return err
			}
			vars := []string{"TERM=dumb", "NO_COLOR=1", "PATH=" + testkit.Path("") + ":" + os.Getenv("PATH"), "ROOT=" + root, "WORK=" + env.WorkDir, "TMPDIR=" + filepath.Join(env.WorkDir, ".tmp")}
			env.Vars = append(os.Environ(), vars...) // with the go command's caches
			env.Values[testing.TB(nil)] = env.T()
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"need": need, "exits": exits, "refused": refused, "mark": mark, "start": start, "contains": contains, "shows": shows,
			"terminal": terminal, "serve": serve, "editor": editor, "core": core, "costs": costs, "setfrom": setFrom,
			"program": program, "native": native,
			"dap": func(ts *testscript.TestScript, _ bool, args []string) { session(ts, args, "clew") },
			"both": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(dlv())
				compare(ts, session(ts, args, "dlv"), session(ts, args, "clew"))
			},
		},
	})
}

var dlv = sync.OnceValue(func() error { return testkit.BuildDlvAlone(testkit.Path("dlv")) })

// compilers are the variables in which scripts find them.
var compilers = map[string]string{"cc": "CC", "g++": "CXX", "rustc": "RUSTC"}

func need(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testing.TB(nil)).(testing.TB)
	for _, name := range args {
		switch {
		case name == "ptrace":
			testneed.Ptrace(t)
		case strings.Contains(name, "/"):
			testneed.Platform(t, strings.Split(name, ",")...)
		case name == "cc":
			ts.Setenv("CC", testneed.CC(t))
		case name == "dlv":
			ts.Check(dlv())
		default:
			path := testneed.Tool(t, name)
			if v := compilers[name]; v != "" {
				ts.Setenv(v, path)
			}
		}
	}
}

// exits is exec for a command that ends with a code of its own.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("%s ends with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func refused(ts *testscript.TestScript, _ bool, args []string) {
	exits(ts, false, append([]string{args[0], "clew"}, args[2:]...))
	why, err := regexp.Compile(args[1])
	ts.Check(err)
	if said := ts.ReadFile("stderr"); ts.ReadFile("stdout") != "" || !strings.HasPrefix(said, "clew: ") || strings.Count(said, "\n") != 1 || !why.MatchString(said) {
		ts.Fatalf("it is not refused in one line that has %s", args[1])
	}
}

// contains looks for texts in what the last command has written.
func contains(ts *testscript.TestScript, neg bool, args []string) {
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, text := range args {
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		if strings.Contains(said, text) == neg {
			ts.Fatalf("%q is there: %v", text, neg)
		}
	}
}

// shows looks for expressions in what the last command has written.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, text := range args {
		re, err := regexp.Compile("(?m)" + text)
		ts.Check(err)
		if re.MatchString(said) == neg {
			ts.Fatalf("%s is there: %v", text, neg)
		}
	}
}

// terminal plays a file to a terminal of clew's (or of dlv's, where that is the first argument), to its end.
func terminal(ts *testscript.TestScript, _ bool, args []string) {
	tool := "clew"
	if args[0] == "dlv" {
		tool, args = args[0], args[1:]
	}
	file := ts.MkAbs(args[0]) + ".init"
	ts.Check(os.WriteFile(file, []byte(ts.ReadFile(args[0])+"\nexit\n"), 0o600))
	ts.Check(ts.Exec(tool, append([]string{args[1], "--allow-non-terminal-interactive", "--init", file}, args[2:]...)...))
}

// serve starts a server, which must end with its last client.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	banner := "API server listening at: "
	if args[2] == "proxy" {
		banner = "clew proxy listening at: "
	}
	cmd := exec.Command(testkit.Path(args[1]), args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	server, err := testkit.Serve(banner, cmd)
	ts.Check(err)
	ts.Defer(server.Kill)
	if strings.HasPrefix(server.Addr, "/") {
		server.Addr = "unix:" + server.Addr
	}
	ts.Setenv(args[0], server.Addr)
}

// editor plays the file of a session with a server that serve has started.
func editor(ts *testscript.TestScript, _ bool, args []string) {
	conn, err := testkit.Dial(strings.TrimPrefix(ts.Getenv(args[1]), "unix:"))
	ts.Check(err)
	s := newSession(conn, environment(ts), ts.MkAbs)
	if err := s.play(ts.ReadFile(args[0])); err != nil {
		ts.Fatalf("%s: %v\nanswers:\n%s", args[0], err, s.transcript())
	}
	_ = conn.Close()
}

// setFrom sets a variable to what an expression's group matches in what the last command has written.
func setFrom(ts *testscript.TestScript, _ bool, args []string) {
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("nothing matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// costs is exec, for a command that may take no more than so much time, as this machine needs it, and MiB of memory.
func costs(ts *testscript.TestScript, _ bool, args []string) {
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	memory, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	began := time.Now()
	ts.Check(ts.Exec(args[2], args[3:]...))
	var use syscall.Rusage
	ts.Check(syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use))
	if took, have := time.Since(began), use.Maxrss>>10; took > testneed.Patience(most) || have > memory {
		ts.Fatalf("it took %v; a process has had %d MiB", took, have)
	}
}

// core runs a program until the kernel writes a core file of it.
func core(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], testkit.Core(ts.Value(testing.TB(nil)).(testing.TB), append(environment(ts), "GOTRACEBACK=crash"), append([]string{ts.MkAbs(args[1])}, args[2:]...)...))
}

func mark(ts *testscript.TestScript, _ bool, args []string) {
	before, _, found := strings.Cut(ts.ReadFile(args[1]), args[2])
	if !found {
		ts.Fatalf("no line of %s has %q", args[1], args[2])
	}
	more := 1
	if len(args) > 3 {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		more += n
	}
	ts.Setenv(args[0], strconv.Itoa(strings.Count(before, "\n")+more))
}

// program builds a program of integration/dap/testdata once.
func program(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		exe, source, err := Program(name)
		ts.Check(err)
		ts.Setenv(name, exe)
		ts.Setenv("source", source)
	}
}

// Program builds a program of integration/dap/testdata for debugging, once, and returns the folder with the copy of its sources.
func Program(name string) (exe, source string, err error) {
	exe, source = testkit.Path(name), testkit.Path(name+"-src")
	_, err = testkit.Once("program "+name, func() (string, error) {
		root, err := testkit.Root()
		return exe, errors.Join(err, testkit.Module(source, filepath.Join(root, "integration", "dap", "testdata", name)),
			testkit.GoIn(source, nil, "build", "-gcflags=all=-N -l", "-o", exe, "."))
	})
	return exe, source, err
}

// native builds a variant of the program with native code (package integration/internal/program).
func native(ts *testscript.TestScript, _ bool, args []string) {
	p := Native(ts.Value(testing.TB(nil)).(testing.TB), args[0])
	ts.Setenv("native", p.Path)
	ts.Setenv("NATIVE_LIBRARY", p.Library)
}

// Native builds a variant of the program with native code, once.
func Native(t testing.TB, name string) variants.Program {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	tools := variants.Tools{CC: testneed.CC(t), Strip: testneed.Tool(t, "strip")}
	v, ok := variants.Named(name)
	if !ok {
		t.Fatalf("no variant %q", name)
	}
	p, err := testkit.Once(name, func() (variants.Program, error) { return v.Build(testkit.Path(""), tools) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// environment is the script's.
func environment(ts *testscript.TestScript) []string {
	ts.Check(ts.Exec("sh", "-c", "env -0 >$TMPDIR/environment")) // not on stdout, which is logged
	return strings.Split(strings.TrimSuffix(ts.ReadFile(ts.Getenv("TMPDIR")+"/environment"), "\x00"), "\x00")
}

// start starts a program, and waits until it has written something.
func start(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command(ts.MkAbs(args[0]), args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	_, err = out.Read(make([]byte, 100))
	ts.Check(err)
	ts.Setenv("pid", strconv.Itoa(cmd.Process.Pid))
}

// session plays the file of a session with a debugger's DAP server.
func session(ts *testscript.TestScript, args []string, debugger string) *Session {
	cmd := exec.Command(testkit.Path(debugger), append([]string{"dap", "--listen=127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	var said bytes.Buffer
	cmd.Stderr = &said
	server, err := testkit.Serve("DAP server listening at: ", cmd)
	ts.Check(err)
	defer server.Kill()
	conn, err := testkit.Dial(server.Addr)
	ts.Check(err)
	s := newSession(conn, environment(ts), ts.MkAbs)
	if err := s.play(ts.ReadFile(args[0])); err != nil {
		ts.Fatalf("%s, %s: %v\nanswers:\n%s", args[0], debugger, err, s.transcript())
	}
	_ = conn.Close()
	if err := server.Wait(); err != nil {
		ts.Fatalf("%s: the server ends with %v: %s", debugger, err, said.String())
	}
	return s
}
