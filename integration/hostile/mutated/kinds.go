package mutated

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kind is a way of giving clew damaged input.
type kind struct {
	name   string
	inputs []input
	// run hands the damaged input to a command, which may write below folder.
	run func(folder string, in input, damaged []byte) outcome
}

// file is a command that reads a damaged file.
func file(name string, inputs []input, args ...string) kind {
	return kind{name, inputs, func(folder string, in input, damaged []byte) outcome {
		path := filepath.Join(folder, in.name)
		if err := os.WriteFile(path, damaged, 0o755); err != nil {
			return outcome{failure: err.Error()}
		}
		return run(nil, os.Environ(), append(args, path)...)
	}}
}

// kinds lists them all.
func (p *prepared) kinds() []kind {
	return slices.Concat([]kind{
		file("`inspect`", p.binaries, "inspect"),
		file("`inspect --table`", p.binaries, "inspect", "--table", "--format", "json"),
		file("`decode`", p.written, "decode"),
		file("`encode`", p.decoded, "encode", "--to", "cbf", "-o", os.DevNull),
		file("`diff`", p.listed, "diff", p.listing),
		file("`--clew-config`", []input{newInput("clew.json", []byte(config))}, "plugins", "--clew-config"),
		{"`unwind`, snapshot", p.snapshots, p.unwindText},
		{"`unwind`, image", p.native, p.unwindImage},
		{"`stack --core`, library", p.native, p.stackLibrary},
		{"`dap --stdio`", p.dap, func(_ string, _ input, damaged []byte) outcome {
			return run(bytes.NewReader(damaged), p.env, "dap", "--stdio")
		}},
		{"`exec --headless`", p.rpc, p.headless},
		{"`stack --connect`", p.answers, p.connect},
		{"`proxy`, server's JSON-RPC", p.rpcAnswers, p.proxyServer(rpc, lines(rpcSession))},
		{"`proxy`, client's JSON-RPC", p.rpc, p.proxyClient(rpc, p.rpcAnswers[0])},
		{"`proxy`, server's DAP", p.dapAnswers, p.proxyServer(dap, remoteSession)},
		{"`proxy`, client's DAP", []input{newInput("dap", []byte(strings.Join(remoteSession, "")))}, p.proxyClient(dap, p.dapAnswers[0])},
		{"`stack`, perf map", p.masks, p.generated("perf")},
		{"`stack`, jitdump", p.masks, p.generated("dump")},
	},
		p.staged("`stack --core`", (*prepared).stackCore, "core", "executable"),
		p.staged("`core`", (*prepared).coreTerminal, "core", "executable"),
		p.staged("`dap`, core", (*prepared).dapCore, "core", "executable"),
		p.staged("`exec`", (*prepared).execTerminal, "executable", "library", "debug file"),
		p.staged("`dap`", (*prepared).dapLaunch, "executable", "library", "debug file"),
		p.staged("`stack --break`", (*prepared).stackBreak, "executable", "library", "debug file"),
		p.staged("`stack --pid`", (*prepared).stackPID, "executable", "library", "debug file"),
		p.staged("`stack`", (*prepared).stackLaunch, "Mach-O library"),
		tables{p}.kinds(), servers{p}.kinds(),
	)
}

// remoteSession joins a server's session.
var remoteSession = dapSession("attach", `{"mode":"remote","stopOnEntry":true}`)

// unwindText unwinds a damaged snapshot, whose images are where it was made.
func (p *prepared) unwindText(folder string, _ input, damaged []byte) outcome {
	return run(bytes.NewReader(damaged), os.Environ(), "unwind", "--root", "/", "-")
}

// unwindImage unwinds a good snapshot through a damaged library.
func (p *prepared) unwindImage(folder string, _ input, damaged []byte) outcome {
	if err := beside(folder, p.path, p.library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return run(bytes.NewReader(p.snapshots[0].data), os.Environ(), "unwind", "--root", folder, "-")
}

// stackLibrary shows the stacks of a core file, one library of which is damaged.
func (p *prepared) stackLibrary(folder string, _ input, damaged []byte) outcome {
	if err := below(folder, p.library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return p.stackCore(folder, scene{exe: p.path, core: p.corePath, root: folder})
}

// below writes a file to its path below a root.
func below(root, path string, data []byte) error {
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, data, 0o755)
}

// beside writes a library to its path below a root, where the program is too.
func beside(root, program, library string, data []byte) error {
	at := filepath.Join(root, program)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return errors.Join(os.Link(program, at), below(root, library, data))
}

// stackCore shows the stacks of a core file.
func (p *prepared) stackCore(_ string, s scene) outcome {
	return run(nil, os.Environ(), "stack", "--core", s.core, "--sysroot", s.root, "--format", "json", s.exe)
}
