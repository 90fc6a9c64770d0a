package main

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
	"syscall"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
)

// prepared are the inputs before the damage.
type prepared struct {
	path, library, corePath string
	env                     []string

	binaries, native, executable, core []input // files that programs are made of
	written, decoded, snapshots        []input // what clew writes
	dap, rpc, answers                  []input // what goes over connections
}

// prepare builds a program, and lets clew write of it all that it can.
func prepare(folder string) (*prepared, error) {
	v, ok := program.Named("opened-O1-g-fp")
	if !ok {
		return nil, errors.New("no such build")
	}
	tools, err := v.Tools()
	if err != nil {
		return nil, err
	}
	built, err := v.Build(folder, tools)
	if err != nil {
		return nil, err
	}
	p := &prepared{path: built.Path, library: built.Library, env: built.Env()}
	for _, step := range []func(folder string) error{p.readBinaries, p.dumpCore, p.write, p.record} {
		if err := step(folder); err != nil {
			return nil, err
		}
	}
	p.dap = []input{newInput("dap", []byte(dapSession(p.path)))}
	p.rpc = []input{newInput("rpc", []byte(rpcSession))}
	return p, nil
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
func (p *prepared) dumpCore(folder string) error {
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited; exec "$0" plain core record`, p.path)
	cmd.Dir, cmd.Env = folder, p.env
	out, _ := cmd.CombinedOutput() // it crashes
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.CoreDump() {
		return fmt.Errorf("no core file was written (%v): %s", cmd.ProcessState, out)
	}
	cores, err := filepath.Glob(filepath.Join(folder, "core*"))
	if err != nil || len(cores) != 1 {
		return fmt.Errorf("core files: %q, %w; set kernel.core_pattern to core", cores, err)
	}
	p.corePath = cores[0]
	data, err := os.ReadFile(p.corePath)
	p.core = []input{newInput("core", data)}
	return err
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
		if format == "snapshot" {
			p.snapshots = []input{newInput(name, data)}
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

// record keeps what a headless server answers to clew stack --connect.
func (p *prepared) record(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, clewPath, "exec", "--headless", "--accept-multiclient", "-l", "unix:"+filepath.Join(folder, "r"), p.path, "--", "plain", "int3")
	server.Env = p.env
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		cancel()
		_ = server.Wait() // interrupted
	}()
	to, err := waitFor(ctx, filepath.Join(folder, "r"))
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	between, err := net.Listen("unix", filepath.Join(folder, "b"))
	if err != nil {
		return err
	}
	defer func() { _ = between.Close() }()
	var answers bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		from, err := between.Accept()
		if err != nil {
			return
		}
		defer func() { _ = from.Close() }()
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(io.MultiWriter(from, &answers), to)
	}()
	out, err := exec.CommandContext(ctx, clewPath, "stack", "--connect", "unix:"+filepath.Join(folder, "b"), "--goroutine", "all", "--format", "json").CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return fmt.Errorf("stacks through the recorder: %w\n%s", err, out)
	}
	_ = to.Close()
	<-done
	p.answers = []input{newInput("answers", answers.Bytes())}
	return nil
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
