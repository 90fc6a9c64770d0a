package mutated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
)

// prepared are the inputs before the damage.
type prepared struct {
	path, library, corePath string
	env                     []string
	machOLoader             string // a program whose library is in p.machO
	dumps, object           string // a program that generates code, and the code
	stem                    string // of the files in which the program records its stacks
	listing, document       string // files that clew stack has written
	stripped                []byte // the library, whose debug sections are in debugFile

	binaries, native, executable, core, debug, machO []input  // files that programs are made of
	written, decoded, snapshots, listed              []input  // what clew writes
	dap, rpc, answers, rpcAnswers, dapAnswers        []input  // what goes over connections
	masks                                            []input  // which bits of a description of generated code are changed
	packed, packedProgram                            []input  // with compressed debug sections
	sframe, compact                                  standing // with tables of these kinds
}

// standing is a program with a library, which stood still.
type standing struct {
	built    program.Program
	core     string // "" for none
	snapshot []byte
	inputs   []input // its library
}

// debugFile is the name in the library's .gnu_debuglink.
const debugFile = "libnative.debug"

// prepare builds a program, and lets clew write of it all that it can.
func prepare(folder string) (*prepared, error) {
	built, err := build(folder, "opened-O1-g-fp")
	if err != nil {
		return nil, err
	}
	if err := command("objcopy", "--decompress-debug-sections", built.Path); err != nil { // damage is to be read
		return nil, err
	}
	p := &prepared{path: built.Path, library: built.Library, env: built.Env(), stem: filepath.Join(folder, "record")}
	for _, step := range []func(folder string) error{p.readBinaries, p.split, p.buildMachO, p.buildDumps, p.dumpCore, p.write, p.record, tables{p}.pack, tables{p}.stand} {
		if err := step(folder); err != nil {
			return nil, err
		}
	}
	p.dap = []input{newInput("dap", []byte(strings.Join(dapSession("launch", launchArguments(p.path, p.stem)), "")))}
	p.rpc = []input{newInput("rpc", []byte(rpcSession))}
	p.masks = []input{newInput("mask", make([]byte, 10<<10))}
	return p, nil
}

// build builds a variant of the program of the tests.
func build(folder, variant string) (program.Program, error) {
	v, ok := program.Named(variant)
	if !ok {
		return program.Program{}, errors.New("no such build")
	}
	tools, err := v.Tools()
	if err != nil {
		return program.Program{}, err
	}
	return v.Build(folder, tools)
}

// command runs a command that prepares something.
func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// split moves the debug sections of a copy of the library to a file of their own.
func (p *prepared) split(folder string) error {
	debug, stripped := filepath.Join(folder, debugFile), filepath.Join(folder, "stripped.so")
	for _, args := range [][]string{
		{"--only-keep-debug", p.library, debug}, {"--strip-debug", "--add-gnu-debuglink=" + debug, p.library, stripped},
	} {
		if err := command("objcopy", args...); err != nil {
			return err
		}
	}
	data, err := os.ReadFile(debug)
	if err != nil {
		return err
	}
	p.debug = []input{newInput(debugFile, data)}
	p.stripped, err = os.ReadFile(stripped)
	return err
}

func (p *prepared) buildMachO(folder string) error {
	built, err := build(folder, "macho-O2-omit")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(built.Library)
	p.machOLoader, p.machO = built.Path, []input{newInput("libnative.dylib", data)}
	return err
}

// buildDumps builds the program of integration/jit that generates code.
func (p *prepared) buildDumps(folder string) error {
	const of = "github.com/clewdbg/clew/integration/jit"
	where, err := exec.Command("go", "list", "-f", "{{.Dir}}", of).Output()
	if err != nil {
		return err
	}
	p.dumps, p.object = filepath.Join(folder, "dumps"), filepath.Join(folder, "hop.o")
	source := filepath.Join(strings.TrimSpace(string(where)), "testdata", "code", "hop.c")
	if err := command("go", "build", "-o", p.dumps, of+"/testdata/dumps"); err != nil {
		return err
	}
	return command("gcc", "-c", "-O2", "-fPIC", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-fcf-protection=none", "-fno-stack-protector", "-o", p.object, source)
}

// readBinaries reads libraries of every format, and the program.
func (p *prepared) readBinaries(folder string) error {
	paths := []string{p.library}
	for _, name := range []string{"O0", "omit", "fp-universal"} {
		path := filepath.Join(folder, name+".dylib")
		if err := program.UnpackMachO(path, name); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for _, version := range []string{"v1", "v2", "v3"} {
		for _, arch := range []string{"", "arm64"} {
			path := filepath.Join(folder, "libnative-"+version+arch+".so")
			if err := program.UnpackSFrame(path, version, arch); err != nil {
				return err
			}
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p.binaries = append(p.binaries, newInput(filepath.Base(path), data))
	}
	p.native = p.binaries[:1]
	exe, err := os.ReadFile(p.path)
	p.executable = []input{newInput("exe", exe)}
	return err
}

// dumpCore lets the program crash.
func (p *prepared) dumpCore(folder string) (err error) {
	if p.corePath, err = crash(folder, p.path, p.env); err != nil {
		return err
	}
	data, err := os.ReadFile(p.corePath)
	p.core = []input{newInput("core", data)}
	return err
}

// crash lets a program crash, and returns its core file.
func crash(folder, path string, env []string) (string, error) {
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited; exec "$0" plain core record`, path)
	cmd.Dir, cmd.Env = folder, env
	out, _ := cmd.CombinedOutput() // it crashes
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.CoreDump() {
		return "", fmt.Errorf("no core file was written (%v): %s", cmd.ProcessState, out)
	}
	cores, err := filepath.Glob(filepath.Join(folder, "core*"))
	if err != nil || len(cores) != 1 {
		return "", fmt.Errorf("core files: %q, %w; set kernel.core_pattern to core", cores, err)
	}
	return cores[0], nil
}

// write lets clew write the core file's stacks in every format.
func (p *prepared) write(folder string) error {
	for name, format := range map[string]string{
		"all.cbf": "cbf", "all.jsonl": "swift", "all.pb.gz": "pprof", "all.otlp": "otlp", "all.json": "json", "snapshot.json": "snapshot",
	} {
		path := filepath.Join(folder, "written", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		args := []string{"stack", "--core", p.corePath, "--goroutine", "current", "--format", format, "-o", path, p.path}
		if out, err := exec.Command(clewPath, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", format, err, out)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p.written = append(p.written, newInput(name, data))
		switch format {
		case "swift":
			p.document = path
		case "snapshot":
			p.snapshots = []input{newInput(name, data)}
		case "json":
			p.listing, p.listed = path, []input{newInput(name, data)}
		}
	}
	images, err := os.ReadFile(filepath.Join(folder, "written", "all.cif"))
	if err != nil {
		return err
	}
	p.written = append(p.written, newInput("all.cif", images))
	text, err := exec.Command(clewPath, "decode", "--format", "json", filepath.Join(folder, "written", "all.cbf")).Output()
	p.decoded = []input{newInput("decoded.json", text)}
	return err
}

// record keeps what headless servers answer, clew's and Delve's.
func (p *prepared) record(folder string) error {
	dlv := filepath.Join(folder, "dlv")
	if err := testkit.BuildDlv(dlv); err != nil {
		return err
	}
	for _, r := range []struct {
		to     *[]input
		server string
		client func(at string) error
	}{
		{&p.answers, clewPath, func(at string) error {
			err := command(clewPath, "stack", "--connect", "unix:"+at, "--goroutine", "all", "--format", "json")
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
				return nil // truncated
			}
			return err
		}},
		{&p.rpcAnswers, dlv, func(at string) error { return rpc.talk(at, lines(rpcSession)) }},
		{&p.dapAnswers, dlv, func(at string) error { return dap.talk(at, remoteSession) }},
	} {
		answers, err := p.recordOf(folder, r.server, r.client)
		if err != nil || len(answers) < 1000 {
			return fmt.Errorf("recorded %q: %w", answers, err)
		}
		*r.to = []input{newInput("answers", answers)}
	}
	return nil
}

// talk holds a session as a client.
func (p protocol) talk(at string, session []string) error {
	conn, err := net.Dial("unix", at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	p.converse(conn, session)
	return nil
}

// recordOf keeps what a headless server answers to a client.
func (p *prepared) recordOf(folder, path string, client func(at string) error) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	at, between := filepath.Join(folder, "r"), filepath.Join(folder, "b")
	_ = os.Remove(at)
	server := exec.CommandContext(ctx, path, "exec", "--headless", "--accept-multiclient", "-l", "unix:"+at, p.path, "--", "plain", "int3", p.stem)
	server.Env = p.env
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 10 * time.Second
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		cancel()
		_ = server.Wait() // interrupted
	}()
	to, err := waitFor(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }()
	_ = os.Remove(between)
	l, err := net.Listen("unix", between)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	var answers bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		from, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = from.Close() }()
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(io.MultiWriter(from, &answers), to)
	}()
	if err := client(between); err != nil {
		return nil, err
	}
	_ = to.Close()
	<-done
	return answers.Bytes(), nil
}

// waitFor connects to a server that is about to listen.
func waitFor(ctx context.Context, at string) (net.Conn, error) {
	for {
		conn, err := net.Dial("unix", at)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no server listens: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
