package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bookkeeping is what the package manager writes for itself, whatever is installed; only
// the names of its files count.
var bookkeeping = []string{"var/lib/dpkg/", "var/lib/apt/", "var/log/", "var/cache/"}

// own are the files that dpkg, apt and man-db make when they are first used: their
// state from before, locks, and formatted pages.
var own = []string{"var/lib/dpkg/*-old", "var/lib/apt/extended_states", "var/lib/apt/lists/*", "var/log/apt/*", "var/cache/apt/*.bin",
	"var/cache/apt/archives/*", "var/cache/man/*/*"}

func isOwn(name string) bool {
	return slices.ContainsFunc(own, func(pattern string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok || err != nil
	})
}

// list returns every file below root, with what is in it.
func list(root string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files[name] = info.Mode().String()
		if !info.Mode().IsRegular() || slices.ContainsFunc(bookkeeping, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
			return nil
		}
		data, err := os.ReadFile(path)
		files[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
		return err
	})
	return files, err
}

// difference are the files that are new, gone or changed.
func difference(before, after map[string]string) []string {
	var all []string
	for name, was := range before {
		switch is, ok := after[name]; {
		case !ok:
			all = append(all, "gone: "+name)
		case is != was && !isOwn(name):
			all = append(all, "changed: "+name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok && !isOwn(name) {
			all = append(all, "new: "+name)
		}
	}
	slices.Sort(all)
	return all
}
