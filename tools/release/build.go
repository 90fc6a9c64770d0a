package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build builds clew for a target: static, without symbols, without a path of this
// machine. cache is go's build cache, "" for the user's.
func (r *release) build(t target, to, cache string, tags ...string) error {
	c := exec.Command("go", "build", "-tags="+strings.Join(tags, ","), "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/clew")
	c.Dir = r.source
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch,
		"GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if cache != "" {
		c.Env = append(c.Env, "GOCACHE="+cache)
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// documents writes what every target's archive has: manual pages and completions, by
// a build for this machine.
func (r *release) documents() error {
	clew := filepath.Join(r.work, "clew")
	if err := r.build(target{runtime.GOOS, runtime.GOARCH}, clew, "", "manpages"); err != nil {
		return err
	}
	if _, err := output(r.work, clew, "man", r.manuals()); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := output(r.work, clew, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.work, name), []byte(script+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) manuals() string { return filepath.Join(r.work, "man") }

// completions are the shells' scripts, under the names that the shells expect.
var completions = map[string]string{"bash": "clew.bash", "zsh": "_clew", "fish": "clew.fish"}

// target makes a target's archive and packages, and returns the archive's name.
func (r *release) target(t target) (string, error) {
	binary := filepath.Join(r.work, t.os+"-"+t.arch)
	if err := r.build(t, binary, r.cache); err != nil {
		return "", err
	}
	modules, err := modulesOf(binary)
	if err != nil {
		return "", err
	}
	content, err := r.content(binary, modules)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("clew_%s_%s_%s", r.version[1:], t.os, t.arch)
	if err := r.archive(name, content); err != nil {
		return "", err
	}
	if err := r.packExtension(t, binary); err != nil {
		return "", err
	}
	if t.os == "linux" {
		if err := r.packages(t, content); err != nil {
			return "", err
		}
	}
	return name + ".tar.gz", nil
}

// file is a file of a release: its name in the archive, and where a package installs it.
type file struct {
	name, installed string
	mode            os.FileMode
	data            []byte
}

const documentFolder = "/usr/share/doc/clew/"

// content returns the files for a target.
func (r *release) content(binary string, modules []module) ([]file, error) {
	notices, err := notices(modules)
	if err != nil {
		return nil, err
	}
	bill, err := r.billOfMaterials(modules)
	if err != nil {
		return nil, err
	}
	list := []file{
		{"THIRD_PARTY_NOTICES.txt", documentFolder + "THIRD_PARTY_NOTICES.txt", 0o644, notices},
		{"sbom.cdx.json", documentFolder + "sbom.cdx.json", 0o644, bill},
	}
	from := []struct{ path, name, installed string }{
		{binary, "clew", "/usr/bin/clew"},
		{filepath.Join(r.source, "LICENSE"), "LICENSE", documentFolder + "copyright"},
		{filepath.Join(r.source, "README.md"), "README.md", documentFolder + "README.md"},
		{filepath.Join(r.work, completions["bash"]), "completions/clew.bash", "/usr/share/bash-completion/completions/clew"},
		{filepath.Join(r.work, completions["zsh"]), "completions/_clew", "/usr/share/zsh/vendor-completions/_clew"},
		{filepath.Join(r.work, completions["fish"]), "completions/clew.fish", "/usr/share/fish/vendor_completions.d/clew.fish"},
	}
	documents, err := filepath.Glob(filepath.Join(r.source, "docs", "*.*"))
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		name := filepath.Join("docs", filepath.Base(d))
		from = append(from, struct{ path, name, installed string }{d, name, documentFolder + name})
	}
	pages, err := filepath.Glob(filepath.Join(r.manuals(), "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages: %w", err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		from = append(from, struct{ path, name, installed string }{page, "man/man1/" + name, "/usr/share/man/man1/" + name + ".gz"})
	}
	for _, f := range from {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		mode := os.FileMode(0o644)
		if f.name == "clew" {
			mode = 0o755
		}
		list = append(list, file{f.name, f.installed, mode, data})
	}
	return list, nil
}
