package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// editors are VS Code's names of the targets.
var editors = map[target]string{
	{"linux", "amd64"}: "linux-x64", {"linux", "arm64"}: "linux-arm64", {"darwin", "amd64"}: "darwin-x64", {"darwin", "arm64"}: "darwin-arm64",
}

// prepareExtension installs what the extension for VS Code is built with. Without npm
// the release has no extension.
func (r *release) prepareExtension() error {
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Println("No npm: the extension for VS Code is left out.")
		return nil
	}
	folder := filepath.Join(r.source, "vscode-extension")
	// Not `npm ci`: it refuses a lock without the optional packages for other systems.
	if _, err := output(folder, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	// Newer Node.js than a distribution's, where the tools need it.
	if major, err := output(folder, "node", "-p", "process.versions.node.split('.')[0] >= 22"); err != nil || major != "true" {
		if _, err := output(folder, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", "test/node"); err != nil {
			return err
		}
		node, err := filepath.Glob(filepath.Join(folder, "test", "node", "node_modules", "node-*", "bin"))
		if err != nil || len(node) == 0 {
			return fmt.Errorf("no Node.js 22 or newer: %w", err)
		}
		r.node = node[0]
	}
	r.extension = folder
	return nil
}

// packExtension writes the extension with the target's binary in it.
func (r *release) packExtension(t target, binary string) error {
	if r.extension == "" {
		return nil
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	bin := filepath.Join(r.extension, "bin", "clew")
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		return err
	}
	packed := filepath.Join(r.extension, "dist", "clew.vsix")
	c := exec.Command("npm", "run", "--silent", "package", "--", "--target", editors[t])
	c.Dir = r.extension
	// The times of the files in it are local times.
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()), "TZ=UTC", "LC_ALL=C.UTF-8",
		"PATH="+r.node+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("npm run package: %w: %s", err, out)
	}
	if data, err = os.ReadFile(packed); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("clew-vscode_%s_%s.vsix", strings.TrimPrefix(r.version, "v"), editors[t]), data)
}
