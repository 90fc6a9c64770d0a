package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// packages writes a linux target's .deb and .rpm.
func (r *release) packages(t target, content []file) error {
	folder, err := os.MkdirTemp(r.work, "package-")
	if err != nil {
		return err
	}
	var contents files.Contents
	for i, f := range content {
		data := f.data
		if strings.HasSuffix(f.installed, ".gz") {
			if data, err = compress(data); err != nil {
				return err
			}
		}
		path := filepath.Join(folder, fmt.Sprint(i))
		if err := os.WriteFile(path, data, f.mode); err != nil {
			return err
		}
		contents = append(contents, &files.Content{
			Source: path, Destination: f.installed,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.at},
		})
	}
	for _, format := range []string{"deb", "rpm"} {
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "clew", Arch: t.arch, Platform: t.os, Version: r.version, MTime: r.at,
			Section: "devel", Priority: "optional", License: "MIT",
			Maintainer:  "The developers of clew <clew@users.noreply.github.com>",
			Homepage:    "https://github.com/clewdbg/clew",
			Description: "Debugger for Go with stacks that go through native code\nDelve with stacks that are assembled frame by frame, checked,\nand labelled: how each frame was found, and how far to trust it.",
			Overridables: nfpm.Overridables{
				Contents: contents,
				// Delve's commands that build a program need Go; nothing else does.
				Suggests: []string{"golang-go"},
				RPM:      nfpm.RPM{BuildHost: "localhost", Group: "Development/Debuggers"},
			},
		})
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return err
		}
		if err := r.write(packager.ConventionalFileName(info), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
