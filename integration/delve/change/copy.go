package change

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const delveModule = "github.com/go-delve/delve"

// copied is the source of Delve and of go-dap, which clew is built with.
type copied struct {
	folder  string
	modfile string
	changed map[string][]byte // files by path, as they were
}

// copyModules copies both modules into a folder, and writes a go.mod beside them
// that has clew built with them. It must be called in clew's module root.
func copyModules(folder string) (*copied, error) {
	c := &copied{folder: folder, modfile: filepath.Join(folder, "go.mod"), changed: make(map[string][]byte)}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	for _, module := range []string{delveModule, goDAP} {
		source, err := run("go", "list", "-m", "-f", "{{.Dir}}", module)
		if err != nil {
			return nil, err
		}
		if err := copyGo(strings.TrimSpace(source), c.root(module)); err != nil {
			return nil, err
		}
		if out, err := run("go", "mod", "edit", "-replace", module+"="+c.root(module), c.modfile); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
	}
	return c, nil
}

func (c *copied) root(module string) string {
	if module == "" {
		module = delveModule
	}
	return filepath.Join(c.folder, filepath.Base(module))
}

// copyGo copies what a build needs of a module.
func copyGo(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != from && (strings.HasPrefix(name, "_") || name == "testdata" || name == "Documentation") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, "_test.go") || entry.Type()&fs.ModeType != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

// apply makes an edit. One that changes nothing is an error: Delve has changed there.
func (c *copied) apply(e edit) error {
	pattern, err := regexp.Compile(e.from)
	if err != nil {
		return err
	}
	path := filepath.Join(c.root(e.module), e.folder)
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.IsDir() {
		if files, err = goFiles(path); err != nil {
			return err
		}
	}
	found := false
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		after := pattern.ReplaceAll(before, []byte(e.to))
		found = found || pattern.Match(before)
		if bytes.Equal(before, after) {
			continue
		}
		if _, have := c.changed[file]; !have {
			c.changed[file] = before
		}
		if err := os.WriteFile(file, after, 0o644); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s has no %s", e.folder, e.from)
	}
	return nil
}

// goFiles lists the Go files of a folder and of those below it.
func goFiles(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// restore takes every edit back.
func (c *copied) restore() error {
	for file, text := range c.changed {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	clear(c.changed)
	return nil
}

// test runs a test of clew's, with the copies.
func (c *copied) test(name, in string) (string, error) {
	return run("go", "test", "-count=1", "-modfile", c.modfile, "-run", "^"+name+"$", in)
}

func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}
