package editors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// aptConf has apt work in a folder of its own, as if nothing were installed.
const aptConf = `Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "%[1]s/lists";
Dir::State::status "/dev/null";
Dir::Cache "%[1]s/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "";
`

// debian returns a program of Debian 13's, and its root folder, with what it needs beside it. It runs by its own loader and
// libraries; what it starts is this system's.
func (w *work) debian(program string, packages ...string) (command, string, error) {
	root := filepath.Join(w.trixie, program)
	exe := filepath.Join(root, "usr/bin", program)
	if _, err := os.Stat(exe); err != nil {
		if err := unpack(root, packages); err != nil {
			return command{}, "", fmt.Errorf("no %s of Debian 13's: %w", program, err)
		}
	}
	loaders, _ := filepath.Glob(filepath.Join(root, "usr/lib*/ld-linux-*.so.*"))
	more, _ := filepath.Glob(filepath.Join(root, "usr/lib/*/ld-linux-*.so.*"))
	if loaders = append(loaders, more...); len(loaders) == 0 {
		return command{}, "", fmt.Errorf("no loader for %s in %s", program, root)
	}
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	return command{argv: []string{loaders[0], "--library-path", strings.Join(libraries, ":"), exe}}, root, nil
}

// unpack downloads packages, with all that they depend on, into a folder.
func unpack(root string, packages []string) error {
	private := root + ".apt"
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(private, sub), 0o755); err != nil {
			return err
		}
	}
	conf := filepath.Join(private, "apt.conf")
	for name, text := range map[string]string{conf: fmt.Sprintf(aptConf, private), filepath.Join(private, "sources.list"): "deb http://deb.debian.org/debian trixie main\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-y", "-q", "--download-only"}, packages...)} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "APT_CONFIG="+conf)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, lastLines(string(out), 5))
		}
	}
	files, _ := filepath.Glob(filepath.Join(private, "cache/archives/*.deb"))
	for _, file := range files {
		if out, err := exec.Command("dpkg", "-x", file, root).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg -x %s: %w\n%s", file, err, out)
		}
	}
	return os.RemoveAll(private)
}
