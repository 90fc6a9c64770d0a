package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/corefile"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/glance"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/unwind"
)

// completeDelves has the shell offer processes and core files to Delve's commands too.
func completeDelves(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "attach": // PID [EXE]
			c.ValidArgsFunction = atPlace(0, completeProcess)
		case "core": // EXE CORE
			c.ValidArgsFunction = atPlace(1, completeCore)
		}
	}
}

// atPlace completes the argument at a place by the function, the others as files.
func atPlace(place int, complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) != place {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(c, args, prefix)
	}
}

// completeProcess offers the processes of this user's that can be attached to, with
// their executables.
func completeProcess(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	var list []string
	for _, dir := range found {
		// A process of another user's hides its executable, a thread of the kernel has none.
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && filepath.Base(dir) != strconv.Itoa(os.Getpid()) {
			list = append(list, cobra.CompletionWithDesc(filepath.Base(dir), printable.Line(exe)))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeCore offers the core files of a folder, or all its files where none is a core.
func completeCore(_ *cobra.Command, _ []string, prefix string) (list []string, _ cobra.ShellCompDirective) {
	folder, _ := filepath.Split(prefix)
	entries, _ := os.ReadDir(cmp.Or(folder, "."))
	for _, e := range entries {
		path := folder + e.Name()
		if !strings.HasPrefix(path, prefix) || !e.Type().IsRegular() {
			continue
		}
		if core, err := corefile.Open(path); err == nil {
			_ = core.Close()
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeGoroutine offers the goroutines of the process or core file that the command
// line names, with what each does. A process is stopped for a moment, as for its stacks.
func (f *stackFlags) completeGoroutine(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	list := []string{"current", "all"}
	if process, done, err := f.openQuietly(args); err == nil {
		list = append(list, goroutinesOf(process)...)
		_ = done() // nothing was written
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// openQuietly opens the process or core file that the flags name, without a debugger.
func (f *stackFlags) openQuietly(args []string) (*live.Process, func() error, error) {
	if f.core != "" {
		return f.openCore(context.Background(), strings.Join(args, ""), nil, func(string) {})
	}
	if f.pid == 0 {
		return nil, nil, fmt.Errorf("no process and no core file")
	}
	program, err := glance.Open(f.pid)
	if err != nil {
		return nil, nil, err
	}
	program.MaxPause(f.pause.max)
	return live.New(program, live.Here(program)), func() error { return nil }, nil
}

// goroutinesOf returns the IDs of a program's goroutines, with what each does.
func goroutinesOf(process *live.Process) (list []string) {
	view, err := process.Read(false)
	if err != nil {
		return nil
	}
	goroutines, _ := view.Goroutines()
	for i := range goroutines {
		var st unwind.Stack
		view.Describe(&goroutines[i], &st)
		does := "goroutine"
		if st.State != nil {
			does = export.Status(st.State)
		}
		list = append(list, cobra.CompletionWithDesc(strconv.FormatUint(goroutines[i].Goroutine, 10), does))
	}
	return list
}

// completeThread offers the threads of the process that the command line names, with
// their names.
func (f *stackFlags) completeThread(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list := []string{"all"}
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", f.pid))
	for _, path := range names {
		if name, err := os.ReadFile(path); err == nil {
			list = append(list, cobra.CompletionWithDesc(filepath.Base(filepath.Dir(path)), printable.Line(strings.TrimSuffix(string(name), "\n"))))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
