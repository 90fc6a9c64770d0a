package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

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

// prepare makes the machine, or finds what an earlier run has made. A kernel is a package, or a
// file of the user's own, which needs no modules.
func prepare(ctx context.Context, kernel string) (*machine, error) {
	if strings.Contains(kernel, "/") {
		if _, err := os.Stat(kernel); err != nil {
			return nil, err
		}
		m, err := prepare(ctx, usualKernel)
		if err == nil {
			m.kernel = kernel
		}
		return m, err
	}
	qemu, err := testneed.Lookup("qemu-system-aarch64")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	made := sha256.Sum256([]byte(initScript + strings.Join(packages, " ") + strings.TrimPrefix(kernel, usualKernel)))
	folder := filepath.Join(cache, "clew", "arm64", fmt.Sprintf("%x", made[:6]))
	m := &machine{qemu: qemu, kernel: filepath.Join(folder, "kernel"), initrd: filepath.Join(folder, "initrd")}
	if _, err := os.Stat(m.initrd); err == nil {
		return m, nil
	}
	err = stage(ctx, "downloading a kernel and libraries into "+folder, 5*time.Minute, func(ctx context.Context) error { return m.make(ctx, folder, kernel) })
	return m, err
}

// make downloads the machine's parts and writes its files into a folder.
func (m *machine) make(ctx context.Context, folder, kernel string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	a := &apt{folder: filepath.Join(folder, "apt")}
	defer os.RemoveAll(a.folder)
	root, err := a.unpack(ctx, kernel)
	if err != nil {
		return err
	}
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return fmt.Errorf("%d kernels in %s", len(kernels), root)
	}
	if err := os.Rename(kernels[0], m.kernel); err != nil {
		return err
	}
	if err := writeInitrd(m.initrd+".new", root); err != nil {
		return err
	}
	return os.Rename(m.initrd+".new", m.initrd)
}

// install installs the packages of programs that are missing, as root only.
func install(ctx context.Context, names []string) error {
	var missing []string
	for _, name := range names {
		n, err := testneed.Named(name)
		if err != nil {
			return err
		}
		if _, err := n.Find(); err != nil {
			missing = append(missing, n.Debian...)
		}
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	switch {
	case len(missing) == 0:
		return nil
	case os.Getuid() != 0:
		return fmt.Errorf("run this command as root, or before it: apt-get install %s", strings.Join(missing, " "))
	}
	return stage(ctx, "installing "+strings.Join(missing, " "), 5*time.Minute, func(ctx context.Context) error {
		update := aptGet(ctx, "update", "-qq") // old lists may serve, too
		if err := aptGet(ctx, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)...); err != nil {
			return errors.Join(update, err)
		}
		return nil
	})
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append(args, "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=120")...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // dpkg is to end what it has begun
	return command(cmd)
}

// apt downloads Debian packages for arm64 with lists and a state of its own.
type apt struct{ folder string }

// usualKernel is the package that depends on the kernel of Debian's release; others are among its backports.
const usualKernel = "linux-image-arm64"

var kernelPackage = regexp.MustCompile(`Depends: (linux-image-[0-9]\S*)`)

// unpack returns a folder with the files of the packages, and those of the kernel that a package depends on.
func (a *apt) unpack(ctx context.Context, kernelOf string) (string, error) {
	for _, dir := range []string{"lists/partial", "archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(a.folder, dir), 0o755); err != nil {
			return "", err
		}
	}
	const archive = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm"
	sources := archive + " main\n"
	if kernelOf != usualKernel {
		sources += archive + "-backports main\n"
	}
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(a.folder, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return "", err
	}
	depends, err := a.run(ctx, "apt-cache", "depends", kernelOf)
	if err != nil {
		return "", err
	}
	kernel := kernelPackage.FindSubmatch(depends)
	if kernel == nil {
		return "", fmt.Errorf("%s depends on no kernel: %s", kernelOf, depends)
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
	return root, a.expand(ctx, root)
}

// expand expands the modules that the machine needs, which newer kernels have compressed.
func (a *apt) expand(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		module, compressed := strings.CutSuffix(filepath.Base(path), ".ko.xz")
		if err != nil || !compressed || !slices.Contains(modules, module) {
			return err
		}
		_, err = a.run(ctx, "xz", "-d", path)
		return err
	})
}

// run runs apt or dpkg in the folder of archives.
func (a *apt) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if strings.HasPrefix(name, "apt") {
		args = append([]string{
			"-qq", "-o", "Dir::Etc::sourcelist=" + a.folder + "/sources.list", "-o", "Dir::Etc::sourceparts=/nonexistent",
			"-o", "Dir::State=" + a.folder, "-o", "Dir::State::Lists=" + a.folder + "/lists", "-o", "Dir::State::status=" + a.folder + "/status",
			"-o", "Dir::Cache=" + a.folder, "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "-o", "APT::Update::Error-Mode=any",
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
