package main

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"
)

// The recipes by which others install an archive. [[ and ]] enclose what is filled
// in, because Nix and Ruby use braces themselves.
//
//go:embed recipes
var recipeFiles embed.FS

// recipes writes the Homebrew formula, the Nix expression and the Dockerfile. They name
// the checksums of all targets' archives.
func (r *release) recipes(archives map[target]string) error {
	if len(archives) < len(strings.Split(allTargets, ",")) {
		fmt.Println("Not all targets: recipes left out.")
		return nil
	}
	sums := map[string]string{}
	for t, name := range archives {
		sum, err := r.checksum(name)
		if err != nil {
			return err
		}
		sums[t.String()] = sum
	}
	templates, err := template.New("").Delims("[[", "]]").ParseFS(recipeFiles, "recipes/*")
	if err != nil {
		return err
	}
	for _, t := range templates.Templates() {
		var b bytes.Buffer
		data := map[string]any{"Version": r.version[1:], "Tag": r.version, "Sums": sums}
		if err := t.Execute(&b, data); err != nil {
			return err
		}
		if err := r.write(path.Base(t.Name()), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
