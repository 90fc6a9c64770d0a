package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// twice builds the release of a commit again, from another clone, in another folder, every
// target's binary with an empty build cache, and compares every byte with that in out.
func twice(commit, version, out, targets string) (err error) {
	work, err := os.MkdirTemp("", "another-folder-for-clew-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	temporary := filepath.Join(work, "tmp")
	if err := errors.Join(os.MkdirAll(temporary, 0o755), os.Setenv("TMPDIR", temporary)); err != nil {
		return err
	}
	again := filepath.Join(work, "dist")
	if err := run(commit, version, again, targets, filepath.Join(work, "cache")); err != nil {
		return err
	}
	files, err := os.ReadDir(again)
	if err != nil {
		return err
	}
	var differ []error
	for _, f := range files {
		a, err := os.ReadFile(filepath.Join(out, f.Name()))
		b, err2 := os.ReadFile(filepath.Join(again, f.Name()))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			differ = append(differ, errors.Join(fmt.Errorf("%s differs", f.Name()), err))
			continue
		}
		fmt.Printf("same: %x  %s\n", sha256.Sum256(b), f.Name())
	}
	if len(differ) > 0 || len(files) == 0 {
		return errors.Join(append(differ, fmt.Errorf("%d of %d files differ", len(differ), len(files)))...)
	}
	fmt.Printf("%d files, the same bytes twice\n", len(files))
	return nil
}
