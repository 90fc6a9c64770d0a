package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	dist := flag.String("dist", "", "folder with a release (default: it is built)")
	base := flag.String("base", "", "folder with a minimal Debian (default: made once, in the user's cache)")
	flag.Parse()
	if err := run(*dist, *base); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(dist, base string) (err error) {
	start := time.Now()
	if os.Geteuid() != 0 {
		return errors.New("chroot needs root: run it as root")
	}
	work, err := os.MkdirTemp("", "clew-install-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	root, err := output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if base, err = debian(base); err != nil {
		return err
	}
	if dist == "" {
		dist = filepath.Join(work, "dist")
		if err := timed("build the release", "go", "-C", filepath.Join(root, "tools", "release"), "run", ".", "-targets", "linux/amd64", "-o", dist); err != nil {
			return err
		}
	}
	brew := filepath.Join(work, "brew")
	if err := timed("build a program with C", "go", "-C", filepath.Join(root, "examples", "brew"),
		"build", "-ldflags=-linkmode=external -extldflags=-static", "-o", brew, "."); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		return err
	}
	for _, f := range forms {
		if err := f.try(string(page), base, dist, brew, filepath.Join(work, f.heading)); err != nil {
			return fmt.Errorf("%s: %w", f.heading, err)
		}
	}
	fmt.Printf("all: %.0f s\n", time.Since(start).Seconds())
	return nil
}

// debian returns a folder with a minimal Debian, with what a terminal's user has
// beside it: manual pages and completion.
func debian(base string) (string, error) {
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(cache, "clew-install", "bookworm")
	}
	if _, err := os.Stat(base); err == nil {
		return base, nil
	}
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return "", err
	}
	making := base + ".making"
	if err := os.RemoveAll(making); err != nil {
		return "", err
	}
	if err := timed("make a minimal Debian", "debootstrap", "--variant=minbase", "--include=man-db,bash-completion", "bookworm", making, "http://deb.debian.org/debian"); err != nil {
		return "", err
	}
	return base, os.Rename(making, base)
}

// timed runs a command and says how long it took; its output comes only with an error.
func timed(what string, command ...string) error {
	start := time.Now()
	_, err := output(command...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("%s: %.0f s\n", what, time.Since(start).Seconds())
	return nil
}

// output runs a command and returns what it prints to standard output.
func output(command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, out, problem.String())
	}
	return strings.TrimSpace(string(out)), nil
}
