package mutated

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// tables are the commands that read tables.
type tables struct{ *prepared }

// kinds are kinds whose input is damaged by what its numbers mean.
func (p tables) kinds() []kind {
	files := slices.Concat(p.binaries, p.packed, p.executable, p.packedProgram)
	libraries, programs := slices.Concat(p.native, p.packed), slices.Concat(p.executable, p.packedProgram)
	list := []kind{
		file("`inspect`, tables", files, "inspect"),
		file("`inspect --table`, tables", files, "inspect", "--table", "--format", "json"),
		{"`unwind`, library's tables", libraries, p.unwindImage},
		{"`unwind`, SFrame tables", p.sframe.inputs, p.sframe.unwind},
		{"`unwind`, compact unwind tables", p.compact.inputs, p.compact.unwind},
		{"`stack --core`, library's tables", libraries, p.stackLibrary},
		{"`stack --core`, SFrame tables", p.sframe.inputs, p.sframe.stackCore},
		stagedOf(p.prepared, "`stack --core`, executable's tables", (*prepared).stackCore, "executable", p.executable),
		stagedOf(p.prepared, "`core`, executable's tables", (*prepared).coreTerminal, "executable", p.executable),
		stagedOf(p.prepared, "`core`, core's tables", (*prepared).coreTerminal, "core", p.core),
	}
	live := []kind{{"`exec`, SFrame tables", p.sframe.inputs, p.execSFrame}}
	for name, session := range map[string]func(p *prepared, folder string, s scene) outcome{
		"`stack --break`": (*prepared).stackBreak, "`exec`": (*prepared).execTerminal, "`dap`": (*prepared).dapLaunch,
	} {
		for which, inputs := range map[string][]input{"library": libraries, "executable": programs, "debug file": p.debug} {
			live = append(live, stagedOf(p.prepared, name+", "+which+"'s tables", session, which, inputs))
		}
	}
	slices.SortFunc(live, func(a, b kind) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	for i := range list {
		list[i].inputs = each(list[i].inputs, input.byMeaning)
	}
	for i := range live {
		live[i].inputs = each(live[i].inputs, func(in input) input { return in.byMeaning().unread() })
	}
	return append(list, live...)
}

func each(inputs []input, change func(input) input) (out []input) {
	for _, in := range inputs {
		out = append(out, change(in))
	}
	return out
}

// pack makes copies whose debug sections are compressed.
func (p tables) pack(folder string) error {
	for _, to := range []struct {
		inputs         *[]input
		from, name, by string
	}{
		{&p.packed, p.library, "zlib.so", "--compress-debug-sections=zlib"},
		{&p.packedProgram, p.path, "zlib", "--compress-debug-sections=zlib"},
	} {
		path := filepath.Join(folder, to.name)
		if err := command("objcopy", to.by, to.from, path); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		*to.inputs = []input{newInput(to.name, data)}
	}
	return nil
}

// stand lets programs with other tables stand still.
func (p tables) stand(folder string) (err error) {
	if p.sframe, err = standOf(folder, "opened-O2-sframe-v3-stripped"); err != nil {
		return err
	}
	own := filepath.Join(folder, "sframe-core")
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	if p.sframe.core, err = crash(own, p.sframe.built.Path, p.sframe.built.Env()); err != nil {
		return err
	}
	p.compact, err = standOf(folder, "macho-O2-omit")
	return err
}

// standOf builds a program, and takes a snapshot of it.
func standOf(folder, variant string) (s standing, err error) {
	if s.built, err = build(folder, variant); err != nil {
		return s, err
	}
	path := filepath.Join(folder, variant+".snapshot.json")
	cmd := exec.Command(clewPath, "stack", "--format", "snapshot", "-o", path, "--", s.built.Path, "callback", "int3", filepath.Join(folder, "record"))
	cmd.Env = s.built.Env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("snapshot of %s: %w\n%s", variant, err, out)
	}
	if s.snapshot, err = os.ReadFile(path); err != nil {
		return s, err
	}
	library, err := os.ReadFile(s.built.Library)
	s.inputs = []input{newInput(filepath.Base(s.built.Library), library)}
	return s, err
}

// unwind unwinds the snapshot through a damaged library.
func (s *standing) unwind(folder string, _ input, damaged []byte) outcome {
	if err := beside(folder, s.built.Path, s.built.Library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return run(bytes.NewReader(s.snapshot), os.Environ(), "unwind", "--root", folder, "-")
}

// stackCore shows the stacks of the core file, with the library damaged.
func (s *standing) stackCore(folder string, _ input, damaged []byte) outcome {
	if err := below(folder, s.built.Library, damaged); err != nil {
		return outcome{failure: err.Error()}
	}
	return run(nil, os.Environ(), "stack", "--core", s.core, "--sysroot", folder, "--format", "json", s.built.Path)
}

// execSFrame stops the program in its damaged library.
func (p tables) execSFrame(folder string, in input, damaged []byte) outcome {
	path := filepath.Join(folder, in.name)
	if err := os.WriteFile(path, damaged, 0o755); err != nil {
		return outcome{failure: err.Error()}
	}
	return p.execTerminal(folder, scene{p.sframe.built.Path, "", path, "/"})
}
