package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/symbolstore"
)

// openCore opens a core file, a compressed one too.
func (f *stackFlags) openCore(ctx context.Context, executable string, debugFolders []string, notify func(string)) (_ *live.Process, _ func() error, err error) {
	meter := newProgress("MB of the core file expanded", 0)
	expanded := 0
	plain, err := corefile.Expand(ctx, f.core, func(n int) {
		expanded += n
		meter.add(expanded>>20 - meter.n)
	})
	meter.done()
	if err != nil {
		return nil, nil, failf("%v", err)
	}
	if plain.Cut {
		notify(fmt.Sprintf("core file %s is cut off: of its memory only what is there is used", f.core))
	}
	opened := []func() error{plain.Close}
	done := func() (err error) {
		for _, end := range opened {
			err = errors.Join(end(), err)
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = done()
		}
	}()
	core, err := plain.Open()
	if err != nil {
		return nil, nil, failf("%v", err)
	}
	opened = append(opened, core.Close)
	if executable == "" {
		if executable, err = f.executableOf(core); err != nil {
			return nil, nil, failf("%v", err)
		}
	}
	f.executable = executable
	if err := core.CheckExecutable(executable); err != nil {
		return nil, nil, failf("%v", err)
	}
	s, err := delve.OpenCore(plain.Path, f.core, executable)
	if err != nil {
		return nil, nil, failf("%v", err)
	}
	opened = append(opened, s.Close)
	f.died = core.Died()
	process := live.NewCore(s, core, live.CoreFiles{Executable: executable, Sysroot: f.sysroot, Find: findOnServers(ctx)})
	process.FindDebugFiles(debugFolders)
	return process, done, nil
}

// executableOf is the executable that a core file names, where the process had it, or below --sysroot.
func (f *stackFlags) executableOf(core *corefile.File) (string, error) {
	named := core.Executable()
	if named == "" {
		return "", fmt.Errorf("core file %s does not say which executable it is of; name it: clew stack --core %s EXE", f.core, f.core)
	}
	path := named
	if f.sysroot != "" {
		path = filepath.Join(f.sysroot, named)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("core file %s is of %s, which is not there (%w); name the executable: clew stack --core %s EXE", f.core, path, errors.Unwrap(err), f.core)
	}
	return path, nil
}

// findOnServers finds files of images that are not on this machine, nil where the user has
// set no servers.
func findOnServers(ctx context.Context) live.Finder {
	client, err := debuginfod.Open()
	if err != nil {
		return nil
	}
	return symbolstore.Debuginfod(ctx, client, showDownload()).File
}
