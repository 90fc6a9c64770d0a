package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/export"
)

// The demo's program, with C and without. They live below testdata so that
// they are no part of clew itself.
//
//go:embed testdata/demo
var demoPrograms embed.FS

func demoCommand() *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Build a small program and show its whole stack through Go and C.",
		Long: `Builds a small Go program with C code, runs it until it stops itself deep in C under
a callback, and prints its stack with strategy and trust for every frame. Then it
writes the stack in the Compact Backtrace Format with its image map and as Swift's
envelope, reads them back and compares.

Without a C compiler the program is Go only; without Go, clew uses one that it contains.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			d := &demo{out: c.OutOrStdout(), err: c.ErrOrStderr()}
			return d.run(c.Context(), keep)
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "folder for the program and the exported files, kept afterwards")
	_ = c.MarkFlagDirname("keep")
	return c
}

// demo is one run of it.
type demo struct{ out, err io.Writer }

func (d *demo) printf(format string, a ...any) { fmt.Fprintf(d.out, format+"\n", a...) }

func (d *demo) run(ctx context.Context, dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "clew-demo-")
		if err != nil {
			return failf("make a folder for the demo: %v", err)
		}
		defer os.RemoveAll(temp)
		dir = temp
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return failf("make a folder for the demo: %v", err)
	}
	program, err := d.build(ctx, dir)
	if err != nil {
		return err
	}
	result, err := d.stop(ctx, program...)
	if err != nil {
		return err
	}
	if err := result.set().Write(d.out, "text"); err != nil {
		return failf("%v", err)
	}
	d.compare(result)
	if err := d.export(dir, result); err != nil {
		return err
	}
	return exitWith(result.exitCode())
}

// build writes the program's sources and builds it, and returns its command line.
func (d *demo) build(ctx context.Context, dir string) ([]string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		self, err := os.Executable()
		if err != nil {
			return nil, failf("find clew's own binary: %v", err)
		}
		d.printf("No go command found in PATH: this is a part of clew's own binary, Go only.")
		d.printf("Install Go (https://go.dev/dl) and gcc or clang to see a stack that goes through C and back.\n")
		return []string{self, demoProgram}, nil
	}
	variant, compiler := "cgo", cCompiler(ctx)
	if compiler == "" {
		variant = "pure"
		d.printf("No C compiler found (looked for $CC, gcc, clang): this is the pure Go program.")
		d.printf("Install gcc or clang to see a stack that goes through C and back.\n")
	}
	source := filepath.Join(dir, "src")
	from, err := fs.Sub(demoPrograms, path.Join("testdata/demo", variant))
	if err != nil {
		return nil, failf("%v", err)
	}
	if err := copyTree(source, from); err != nil {
		return nil, failf("write the demo's sources: %v", err)
	}
	program := filepath.Join(dir, "program")
	d.printf("Building a Go program%s ...", map[string]string{"cgo": " with C code (" + filepath.Base(compiler) + ")"}[variant])
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GO111MODULE=on", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if variant == "cgo" {
		build.Env = append(build.Env, "CGO_ENABLED=1")
	} else {
		build.Env = append(build.Env, "CGO_ENABLED=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return nil, failf("build the demo's program: %v: %s", err, strings.TrimSpace(string(out)))
	}
	return []string{program}, nil
}

// cCompiler finds the C compiler that cgo would use, "" for none.
func cCompiler(ctx context.Context) string {
	names := []string{"gcc", "clang"}
	if out, err := exec.CommandContext(ctx, "go", "env", "CC").Output(); err == nil {
		if fields := strings.Fields(string(out)); len(fields) > 0 {
			names = fields[:1]
		}
	}
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

func copyTree(to string, from fs.FS) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module demo\n\ngo 1.24\n"), 0o644)
}

// stop runs the program to where it stops itself, and unwinds it there.
func (d *demo) stop(ctx context.Context, program ...string) (*stackResult, error) {
	notify := func(s string) { tell(d.err, "%s", s) }
	strats, err := openStrategies("", nil, notify)
	if err != nil {
		return nil, err
	}
	defer strats.close()
	d.printf("Running it until it stops itself ...\n")
	process, done, err := openTarget(ctx, &stackFlags{}, program, strats.debugFolders, notify)
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }()
	return (&stackFlags{goroutine: "current", form: new(export.Format)}).assembleStill(ctx, process, engine.New(strats.order))
}

// compare lists the frames of Delve's own stack of this stop that do not exist.
func (d *demo) compare(r *stackResult) {
	claims := r.threads[0].Claims
	known := make(map[uint64]bool)
	for _, f := range r.stacks[0].Frames {
		known[f.PC.Raw()] = true
	}
	var bogus []string
	for i, c := range claims {
		if !known[c.PC.Raw()] {
			bogus = append(bogus, strings.TrimSpace(fmt.Sprintf("#%d %#x %s", i, c.PC.Raw(), c.Function)))
		}
	}
	if len(bogus) > 0 {
		d.printf("\nDelve alone shows %d frames here, and %d of them do not exist:\n  %s", len(claims), len(bogus), strings.Join(bogus, ", "))
	}
}

// export writes the stack in every exchange format, reads it back, and compares
// it with the stack.
func (d *demo) export(dir string, r *stackResult) error {
	files := []struct{ format, name string }{{"cbf", "demo.cbf"}, {"swift", "demo.swift.json"}}
	for _, f := range files {
		if err := r.set().WritePath(filepath.Join(dir, f.name), f.format); err != nil {
			return failf("%v", err)
		}
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil // differs, and so is found
		}
		return data
	}
	backtrace, images, swift := read("demo.cbf"), read("demo.cif"), read("demo.swift.json")
	want := export.Frames(&r.stacks[0])
	if err := sameFrames(backtrace, want); err != nil {
		return failf("demo.cbf: %v", err)
	}
	m, err := imagemap.Decode(images, imagemap.DecodeOptions{})
	if err != nil || !m.Equal(r.at.Images()) {
		return failf("demo.cif differs from the images of the process when it is read back (%v): this is a bug in clew", err)
	}
	inside, err := envelope.Unmarshal(swift)
	if err != nil {
		return failf("demo.swift.json: %v", err)
	}
	if err := sameFrames(inside.Backtrace, want); err != nil {
		return failf("demo.swift.json: %v", err)
	}
	if m, err = imagemap.Decode(inside.ImageMap, imagemap.DecodeOptions{}); err != nil || !m.Equal(r.at.Images()) {
		return failf("demo.swift.json differs from the images of the process when it is read back (%v): this is a bug in clew", err)
	}
	d.printf("\nWritten, read back and found equal:")
	d.printf("  demo.cbf         %5d bytes  %d frames", len(backtrace), len(want))
	d.printf("  demo.cif         %5d bytes  %d images", len(images), m.Len())
	d.printf("  demo.swift.json  %5d bytes  both, as Swift 6.2 and later read them", len(swift))
	return nil
}

// sameFrames reads a backtrace and compares it.
func sameFrames(data []byte, want []cbf.Frame) error {
	got, err := cbf.Decode(data, cbf.DecodeOptions{})
	if err != nil {
		return err
	}
	if !slices.Equal(got.Frames, want) {
		return fmt.Errorf("%d frames that were read back differ from the %d that were written: this is a bug in clew", len(got.Frames), len(want))
	}
	return nil
}
