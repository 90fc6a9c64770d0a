// Command release builds everything that a release of clew consists of, from the
// commit that is checked out, and publishes nothing:
//
//	go -C tools/release run . [-version v1.28.0] [-o DIR] [-targets linux/amd64,...] [-twice]
//
// For each target a static binary in an archive, with its manual pages, completions,
// licence, third parties' notices and bill of materials; for linux .deb and .rpm
// packages, and the extension for VS Code with the binary in it; a Homebrew formula, a Nix expression and a Dockerfile with the archives'
// checksums; and checksums.txt.
//
// The same commit, version and Go release make the same bytes in any folder: sources
// come from a clone of the commit, paths are trimmed, and every time is the commit's.
// -twice proves it: it builds all of it again elsewhere and compares. That takes some
// minutes of two processors for each target: with -targets it can be done in parts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is one release on its way.
type release struct {
	version string    // "v1.28.0"
	at      time.Time // of the commit
	source  string    // a clone of the commit, tagged with the version
	work    string    // a folder for what is made on the way
	cache   string    // the build cache for the targets, "" for the user's
	out     string    // the folder of what is released
	files   []string  // the names in out, in order

	extension, node string // the extension's folder, and that of a newer Node.js; "" if there is none
}

// target is a platform that a release has a binary for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	version := flag.String("version", "", "the release's version (default: the commit's tag, or v1.28.0-dev)")
	out := flag.String("o", "../../dist", "folder for the files")
	targets := flag.String("targets", allTargets, "platforms, GOOS/GOARCH")
	again := flag.Bool("twice", false, "build it a second time, elsewhere, and compare")
	flag.Parse()
	commit, err := output(".", "git", "rev-parse", "HEAD")
	if err == nil {
		err = run(commit, *version, *out, *targets, "")
	}
	if err == nil && *again {
		err = twice(commit, *version, *out, *targets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(commit, version, out, targets, cache string) (err error) {
	list, err := parseTargets(targets)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "clew-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r := &release{source: filepath.Join(work, "source"), work: work, cache: cache, out: out}
	if err := r.checkout(commit, version); err != nil {
		return err
	}
	fmt.Printf("clew %s, commit of %s\n", r.version, r.at.Format(time.RFC3339))
	if err := errors.Join(r.documents(), r.prepareExtension()); err != nil {
		return err
	}
	archives := map[target]string{}
	for _, t := range list {
		if archives[t], err = r.target(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.recipes(archives); err != nil {
		return err
	}
	return r.checksums()
}

func parseTargets(s string) ([]target, error) {
	var list []target
	for name := range strings.SplitSeq(s, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok || !strings.Contains(","+allTargets+",", ","+name+",") {
			return nil, fmt.Errorf("no target %q: there are %s", name, allTargets)
		}
		list = append(list, target{system, arch})
	}
	return list, nil
}

// goodVersion: the Go extension for VS Code compares the version that is stamped into
// the binary with Delve's releases, so clew's begin at 1.28.
var goodVersion = regexp.MustCompile(`^v(1\.(2[89]|[3-9]\d)|[2-9])(\.\d+){1,2}(-[0-9A-Za-z.-]+)?$`)

// checkout clones the commit and tags the clone, because the go command takes the
// version that it stamps into a binary from the tag.
func (r *release) checkout(commit, version string) error {
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if version == "" {
		if version, err = output(root, "git", "describe", "--tags", "--exact-match", commit); err != nil {
			version = "v1.28.0-dev"
		}
	}
	if !goodVersion.MatchString(version) {
		return fmt.Errorf("%q is no version from v1.28.0 on", version)
	}
	if changed, err := output(root, "git", "status", "--porcelain"); err == nil && changed != "" {
		fmt.Println("Changes that are not committed are left out.")
	}
	r.version = version
	for _, command := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-tags", "--no-checkout", root, r.source},
		{"git", "-C", r.source, "checkout", "--quiet", "--detach", commit},
		{"git", "-C", r.source, "-c", "user.name=release", "-c", "user.email=release", "tag", version},
	} {
		if _, err := output(".", command...); err != nil {
			return err
		}
	}
	seconds, err := output(r.source, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	r.at, err = time.Parse(time.RFC3339, seconds)
	r.at = r.at.UTC()
	return err
}

// output runs a command in a folder and returns what it prints, without the last newline.
func output(dir string, command ...string) (string, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	var problem strings.Builder
	c.Stderr = &problem
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
