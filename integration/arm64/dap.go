package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/clewdbg/clew/integration/internal/throughproxy"
)

// goInMachine is the go command that Delve's tests find: it says what it is, runs test2json, and
// copies the programs that they build.
const goInMachine = `#!/bin/sh
here=$(dirname "$0")
case "$1 $2" in
"version ") echo "go version VERSION linux/arm64"; exit ;;
"env CGO_ENABLED") echo 0; exit ;;
esac
if [ "$1 $2" = "tool test2json" ]; then
	shift 2
	exec "$here"/test2json "$@"
fi
while [ $# -gt 1 ]; do
	case "$1" in
	-o) to=$2 ;;
	-bad) echo "flag provided but not defined: -bad" >&2; exit 2 ;;
	esac
	shift
done
cp "$here/fixtures/$(basename "$1" .go)" "$to" && chmod +x "$to"
`

// fixtureFlags are those by which Delve's tests of DAP build their programs. The machine has no time zones; they bring
// their own.
var fixtureFlags = []string{"-tags=timetzdata", "-ldflags=", "-gcflags=all=-l -N", "-buildmode=exe"}

// buildDAP builds Delve's tests of DAP, with the programs of some, as for go test -run, for TestThroughProxy.
func buildDAP(tests string) builder {
	return func(ctx context.Context, folder string) error {
		return buildSuite(ctx, folder, regexp.MustCompile(tests))
	}
}

func buildSuite(ctx context.Context, folder string, tests *regexp.Regexp) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-delve/delve").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	module, source := strings.TrimSpace(string(out)), filepath.Join(folder, "delve")
	if err := copyModule(source, module); err != nil {
		return err
	}
	if err := throughproxy.Put(source); err != nil {
		return err
	}
	suite := throughproxy.Suites[0]
	in := func(dir string, cgo bool, args ...string) error {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if cgo {
			cmd.Env = append(cmd.Env, "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc", "CGO_CFLAGS=-O0 -g")
		}
		return command(cmd)
	}
	err = errors.Join(
		in(filepath.Join(source, suite.Folder), false, "test", "-c", "-o", filepath.Join(folder, "suite.test"), "."),
		in(".", false, "test", "-c", "-o", filepath.Join(folder, "dlvtests.test"), "./integration/delve/dlvtests"),
		in(".", false, "build", "-o", filepath.Join(folder, "test2json"), "cmd/test2json"),
		in(".", false, "build", "-o", filepath.Join(folder, "clew"), "./cmd/clew"),
		os.WriteFile(filepath.Join(folder, "go"), []byte(strings.Replace(goInMachine, "VERSION", runtime.Version(), 1)), 0o755),
	)
	if err != nil {
		return err
	}
	fixtures := filepath.Join(source, "_fixtures")
	names, err := fixturesOf(fixtures, filepath.Join(source, suite.Folder, "server_test.go"), tests)
	if err != nil {
		return err
	}
	for _, source := range names {
		name := strings.TrimSuffix(strings.TrimSuffix(source, "/main.go"), ".go")
		args := append([]string{"build", "-o", filepath.Join(folder, "fixtures", name)}, fixtureFlags...)
		if err := in(fixtures, true, append(args, "./"+strings.TrimSuffix(source, "/main.go"))...); err != nil {
			return err
		}
	}
	return nil
}

// copyModule copies a module, whose files may be read-only, without what is no source.
func copyModule(to, module string) error {
	return filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(module, path)
		if err != nil || d.Type()&^fs.ModeDir != 0 {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"Documentation", ".git", "node_modules"}, d.Name()) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
}

var (
	testFunction = regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}`)
	literal      = regexp.MustCompile(`"(?:[\w./]*/)?(\w+)(?:\.go)?"`)
)

// fixturesOf lists the sources in a folder of programs that tests of a file name.
func fixturesOf(folder, file string, tests *regexp.Regexp) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range testFunction.FindAllSubmatch(text, -1) {
		if !tests.Match(f[1]) {
			continue
		}
		for _, name := range literal.FindAllSubmatch(f[0], -1) {
			for _, source := range []string{string(name[1]) + ".go", string(name[1]) + "/main.go"} {
				if _, err := os.Stat(filepath.Join(folder, source)); err == nil {
					names = append(names, source)
					break
				}
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: the tests %s build nothing", file, tests)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// runDAP runs some of the tests, as for go test -run.
func runDAP(tests string) string {
	return `export PATH="$1":$PATH TMPDIR=/tmp
cd "$1" && ./dlvtests.test -test.v -test.run TestThroughProxy -test.timeout 0 -prepared "$1" -proxied '` + tests + `'`
}
