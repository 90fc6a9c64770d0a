package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/clewdbg/clew/internal/testneed"
)

// machine is a kernel and the file system that it starts with.
type machine struct {
	qemu           string
	kernel, initrd string
}

// packages are Debian's for arm64, beside the kernel: a shell, the C library, and
// libraries to stop in.
var packages = []string{"busybox-static", "libc6", "libgcc-s1", "libstdc++6", "libsqlite3-0", "zlib1g", "libssl3"}

// prepare makes the machine, or finds what an earlier run has made.
func prepare(ctx context.Context) (*machine, error) {
	qemu, err := need("qemu-system-aarch64")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	made := sha256.Sum256([]byte(initScript + strings.Join(packages, " ")))
	folder := filepath.Join(cache, "clew", "arm64", fmt.Sprintf("%x", made[:6]))
	m := &machine{qemu: qemu, kernel: filepath.Join(folder, "kernel"), initrd: filepath.Join(folder, "initrd")}
	if _, err := os.Stat(m.initrd); err == nil {
		return m, nil
	}
	fmt.Fprintln(os.Stderr, "arm64: downloading a kernel and libraries into", folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	a := &apt{folder: filepath.Join(folder, "apt")}
	defer os.RemoveAll(a.folder)
	root, err := a.unpack(ctx)
	if err != nil {
		return nil, fmt.Errorf("no machine to emulate: %w", err)
	}
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return nil, fmt.Errorf("%d kernels in %s", len(kernels), root)
	}
	if err := os.Rename(kernels[0], m.kernel); err != nil {
		return nil, err
	}
	if err := writeInitrd(m.initrd+".new", root); err != nil {
		return nil, err
	}
	return m, os.Rename(m.initrd+".new", m.initrd)
}

// need finds a program; root installs the packages that have it.
func need(name string) (string, error) {
	n, err := testneed.Named(name)
	if err != nil {
		return "", err
	}
	path, err := n.Find()
	if err == nil {
		return path, nil
	}
	if os.Getuid() != 0 {
		return "", fmt.Errorf("%w; run this command as root, or install them with apt-get", err)
	}
	update := updated()
	if failed := install(n.Debian...); failed != nil {
		return "", errors.Join(err, update, failed)
	}
	return n.Find()
}

// updated brings the system's lists of packages up to date, once. Old ones may serve, too.
var updated = sync.OnceValue(func() error { return aptGet("update", "-qq") })

func install(packages ...string) error {
	return aptGet(append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)...)
}

func aptGet(args ...string) error {
	cmd := exec.Command("apt-get", append(args, "-o", "Acquire::Retries=3")...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return command(cmd)
}

// apt downloads Debian packages for arm64 with lists and a state of its own.
type apt struct{ folder string }

var kernelPackage = regexp.MustCompile(`Depends: (linux-image-[0-9]\S*)`)

// unpack returns a folder with the files of the packages.
func (a *apt) unpack(ctx context.Context) (string, error) {
	for _, dir := range []string{"lists/partial", "archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(a.folder, dir), 0o755); err != nil {
			return "", err
		}
	}
	const sources = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(a.folder, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return "", err
	}
	depends, err := a.run(ctx, "apt-cache", "depends", "linux-image-arm64")
	if err != nil {
		return "", err
	}
	kernel := kernelPackage.FindSubmatch(depends)
	if kernel == nil {
		return "", fmt.Errorf("linux-image-arm64 depends on no kernel: %s", depends)
	}
	if _, err := a.run(ctx, "apt-get", append([]string{"download", string(kernel[1])}, packages...)...); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(a.folder, "archives", "*.deb"))
	if err != nil {
		return "", err
	}
	root := filepath.Join(a.folder, "root")
	for _, file := range files {
		if _, err := a.run(ctx, "dpkg-deb", "-x", file, root); err != nil {
			return "", err
		}
	}
	return root, nil
}

// run runs apt or dpkg in the folder of archives.
func (a *apt) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if name != "dpkg-deb" {
		args = append([]string{
			"-qq", "-o", "Dir::Etc::sourcelist=" + a.folder + "/sources.list", "-o", "Dir::Etc::sourceparts=/nonexistent",
			"-o", "Dir::State=" + a.folder, "-o", "Dir::State::Lists=" + a.folder + "/lists", "-o", "Dir::State::status=" + a.folder + "/status",
			"-o", "Dir::Cache=" + a.folder, "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3",
		}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(a.folder, "archives")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("needs Debian's %s: %w", name, err)
		}
		return nil, fmt.Errorf("%s (is there a network?): %w\n%s", name, err, errs.Bytes())
	}
	return out.Bytes(), nil
}
