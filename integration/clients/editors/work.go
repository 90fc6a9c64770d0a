package editors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// options are the command line's.
type options struct{ only, trixie, plugins, into string }

// work is what all editors need: a program, and what debugs it.
type work struct {
	*options
	folder   string            // a new one, with everything in it
	program  string            // the program's folder; the executable is barista in it
	adapters map[string]string // clew's and dlv's executables
}

// found is an editor that was found.
type found struct {
	version string // with that of its plugins
	command
	plugins map[string]string // folders, by name
}

// command is how a program is run.
type command struct {
	argv, env []string
}

func (c command) with(args ...string) command {
	return command{append(append([]string(nil), c.argv...), args...), c.env}
}

// home is an empty one: no settings of this machine's user count.
func (w *work) home() string { return filepath.Join(w.folder, "home") }

// patience bounds one editor's script.
const patience = 3 * time.Minute

// run runs a command, with more of an environment, and returns its output.
func (w *work) run(c command, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = w.program
	cmd.Env = append(append(os.Environ(), "HOME="+w.home(), "XDG_CONFIG_HOME="+w.home(), "CLEW_TEST_PROGRAM="+filepath.Join(w.program, "barista")), append(c.env, env...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s", filepath.Base(c.argv[0]), err, lastLines(string(out), 12))
	}
	return string(out), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// prepare builds the program, clew, and dlv.
func prepare(o *options) (*work, error) {
	folder, err := os.MkdirTemp("", "editors")
	if err != nil {
		return nil, err
	}
	w := &work{options: o, folder: folder, program: filepath.Join(folder, "barista"), adapters: make(map[string]string)}
	if err := os.Mkdir(w.home(), 0o755); err != nil {
		return nil, err
	}
	err = os.CopyFS(w.program, os.DirFS("vscode-extension/test/testdata/program"))
	for _, name := range []string{"clew", "dlv"} {
		w.adapters[name] = filepath.Join(folder, "bin", name)
	}
	err = errors.Join(err, testkit.BuildClew(w.adapters["clew"]), testkit.BuildDlv(w.adapters["dlv"]),
		testkit.GoIn(w.program, nil, "build", "-gcflags=all=-N -l", "-o", "barista", "."))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return w, nil
}

// leftovers counts the processes of an adapter, or of the program, that stay behind an editor.
func (w *work) leftovers(adapter string) (n int) {
	for range 50 {
		n = 0
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			exe, err := os.Readlink(link)
			if err == nil && (exe == w.adapters[adapter] || exe == filepath.Join(w.program, "barista")) {
				n++
			}
		}
		if n == 0 {
			return 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return n
}

// plugin returns a clone of a plugin for an editor at a tag, and its version.
func (w *work) plugin(owner, name, tag string) (folder, version string, err error) {
	source := filepath.Join(w.plugins, name)
	if _, err := os.Stat(source); w.plugins == "" || err != nil {
		source = "https://github.com/" + owner + "/" + name
	}
	folder = filepath.Join(w.folder, name)
	args := []string{"clone", "--quiet"}
	if tag != "" {
		args = append(args, "--branch", tag)
	}
	if _, err := w.run(command{argv: append(append([]string{"git", "-c", "advice.detachedHead=false"}, args...), source, folder)}); err != nil {
		return "", "", fmt.Errorf("its plugin %s cannot be cloned: %w", name, err)
	}
	out, err := w.run(command{argv: []string{"git", "-C", folder, "describe", "--tags", "--always"}})
	return folder, name + " " + strings.TrimSpace(out), err
}
