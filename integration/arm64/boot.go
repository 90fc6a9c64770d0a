package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// job is what a machine does before it switches itself off.
type job struct {
	script string   // a file
	files  []string // files and folders, which keep their absolute paths
	parts  int      // how many times the limit it may take
}

// maxResults bounds the bytes of results.
const maxResults = 1 << 30

// longest bounds how much later a slow machine ends one part: CI has other work, too.
const longest = 20 * time.Minute

// limit is the time for so many parts on this machine.
func limit(timeout time.Duration, parts int) time.Duration {
	return time.Duration(max(parts, 1)) * min(testneed.Patience(timeout), max(timeout, longest)).Round(time.Second)
}

// run boots the machine, runs the job, and fetches its results.
func (m *machine) run(ctx context.Context, work string, o options, j job) error {
	in, out := filepath.Join(work, "in.tar"), filepath.Join(work, "out.tar")
	if err := pack(in, j); err != nil {
		return err
	}
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(out, maxResults); err != nil {
		return err
	}
	limit := limit(o.timeout, j.parts)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %v", limit))
	defer cancel()
	fmt.Fprintf(os.Stderr, "arm64: booting; it may take %v\n", limit)
	start := time.Now()
	board := "virt"
	if strings.HasPrefix(o.cpu, "max") {
		board += ",mte=on" // memory tagging; others have none
	}
	cmd := exec.CommandContext(ctx, m.qemu, "-M", board, "-cpu", o.cpu, "-accel", "tcg,thread=multi", "-m", "4096", "-smp", "1",
		"-nographic", "-no-reboot", "-nic", "none", "-kernel", m.kernel, "-initrd", m.initrd, "-append", "console=ttyAMA0 quiet rdinit=/init",
		"-drive", "format=raw,if=virtio,readonly=on,file="+in, "-drive", "format=raw,if=virtio,file="+out)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the emulation, after %v: %w", time.Since(start).Round(time.Second), errors.Join(err, context.Cause(ctx)))
	}
	if err := unpack(out, o.results); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	fmt.Fprintf(os.Stderr, "arm64: %v, results in %s\n", time.Since(start).Round(time.Second), o.results)
	status, err := os.ReadFile(filepath.Join(o.results, "status"))
	if err != nil {
		return fmt.Errorf("the machine did not come to an end: %w", err)
	}
	if s := strings.TrimSpace(string(status)); s != "0" {
		return fmt.Errorf("the script ended with status %s", s)
	}
	return nil
}

// pack writes the job as a tar.
func pack(name string, j job) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	if err := add(w, j.script, "job"); err != nil {
		return err
	}
	for _, file := range j.files {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		err = filepath.WalkDir(file, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return add(w, path, strings.TrimPrefix(path, "/"))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a file, a folder or a link.
func add(w *tar.Writer, path, name string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	link := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name = name
	if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// unpack writes the files of a tar into a folder.
func unpack(name, folder string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(h.Name), 0o755)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(filepath.Clean(h.Name), data, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
}

func openFolder(folder string) (*os.Root, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(folder)
}
