package mutated

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scene is what a session reads: files, one of which is damaged.
type scene struct{ exe, core, library, root string }

// scene puts the damaged file into the folder.
func (p *prepared) scene(folder, which string, damaged []byte) (scene, error) {
	s := scene{p.path, p.corePath, p.library, "/"}
	write := func(name string) (string, error) {
		path := filepath.Join(folder, name)
		return path, os.WriteFile(path, damaged, 0o755)
	}
	var err error
	switch which {
	case "executable":
		s.exe, err = write("exe")
	case "core":
		s.core, err = write("core")
	case "library":
		s.library, err = write("libnative.so")
	case "Mach-O library":
		s.exe = p.machOLoader
		s.library, err = write("libnative.dylib")
	case "debug file":
		s.library = filepath.Join(folder, "libnative.so")
		_, err = write(debugFile)
		err = errors.Join(err, os.WriteFile(s.library, p.stripped, 0o755))
	}
	return s, err
}

// env is the program's environment.
func (s scene) env() []string { return append(os.Environ(), "NATIVE_LIBRARY="+s.library) }

// staged is a kind for each of the files that a session may find damaged.
func (p *prepared) staged(name string, session func(p *prepared, folder string, s scene) outcome, which ...string) (list []kind) {
	inputs := map[string][]input{
		"executable": p.executable, "core": p.core, "library": p.native, "debug file": p.debug, "Mach-O library": p.machO,
	}
	for _, w := range which {
		ins := inputs[w]
		if !strings.Contains(name, "core") { // the program runs
			ins = []input{ins[0].notLoaded()}
		}
		list = append(list, stagedOf(p, name+", "+w, session, w, ins))
	}
	return list
}

// stagedOf is a kind of sessions that find one file damaged.
func stagedOf(p *prepared, name string, session func(p *prepared, folder string, s scene) outcome, which string, inputs []input) kind {
	return kind{name, inputs, func(folder string, _ input, damaged []byte) outcome {
		s, err := p.scene(folder, which, damaged)
		if err != nil {
			return outcome{failure: err.Error()}
		}
		return session(p, folder, s)
	}}
}

const noTerminal = "--allow-non-terminal-interactive"

func (p *prepared) execTerminal(_ string, s scene) outcome {
	return run(strings.NewReader("break main.first\n"+terminalScript), s.env(), "exec", noTerminal, s.exe, "--", "plain", "int3", p.stem)
}

func (p *prepared) coreTerminal(_ string, s scene) outcome {
	return run(strings.NewReader(terminalScript), os.Environ(), "core", noTerminal, s.exe, s.core)
}

func (p *prepared) dapLaunch(folder string, s scene) outcome {
	return p.dapServer(folder, s, dapSession("launch", launchArguments(s.exe, p.stem)))
}

func (p *prepared) dapCore(folder string, s scene) outcome {
	return p.dapServer(folder, s, dapSession("launch", fmt.Sprintf(`{"mode":"core","program":%q,"coreFilePath":%q}`, s.exe, s.core)))
}

func (p *prepared) dapServer(folder string, s scene, session []string) outcome {
	return p.against(folder, s.env(), func(_ context.Context, conn net.Conn, _ string) { dap.converse(conn, session) }, "dap")
}

func (p *prepared) stackBreak(_ string, s scene) outcome {
	return run(nil, s.env(), s.stackArguments(p.stem, "--break", "main.inGo")...)
}

func (p *prepared) stackLaunch(_ string, s scene) outcome {
	return run(nil, s.env(), s.stackArguments(p.stem)...)
}

// stackArguments start the program, which stops in Go that its library has called.
func (s scene) stackArguments(stem string, more ...string) []string {
	return slices.Concat([]string{"stack", "--format", "json"}, more, []string{"--", s.exe, "callback", "int3", stem})
}

// stackPID lists the stacks of a process that waits in its library.
func (p *prepared) stackPID(folder string, s scene) outcome {
	record := filepath.Join(folder, "record")
	var program *exec.Cmd
	for end := time.Now().Add(maxWall); ; time.Sleep(5 * time.Millisecond) {
		program = exec.Command(s.exe, "plain", "syscall", record)
		program.Env = s.env()
		err := program.Start()
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(end) { // another worker's fork may still hold the file
			return outcome{failure: err.Error()}
		}
	}
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait() // killed
	}()
	for end := time.Now().Add(maxWall); ; time.Sleep(5 * time.Millisecond) {
		if there, _ := filepath.Glob(record + ".*"); len(there) > 0 {
			break
		}
		if time.Now().After(end) {
			return outcome{failure: "the program does not wait"}
		}
	}
	return run(nil, os.Environ(), "stack", "--pid", fmt.Sprint(program.Process.Pid), "--format", "json")
}

// generated shows the stack through code that the program has generated, and described with damage.
func (p *prepared) generated(how string) func(string, input, []byte) outcome {
	return func(folder string, _ input, mask []byte) outcome {
		path := filepath.Join(folder, "mask")
		if err := os.WriteFile(path, mask, 0o600); err != nil {
			return outcome{failure: err.Error()}
		}
		return run(nil, append(os.Environ(), "DUMPS_MASK="+path), "stack", "--format", "json", "--", p.dumps, how, p.object, folder)
	}
}
