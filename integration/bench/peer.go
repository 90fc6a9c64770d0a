package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// debianCrates is where Debian's packages of Rust crates lie.
const debianCrates = "/usr/share/cargo/registry"

// peer is a program of a crate that does the same lookups as clew.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	sum string
	dir string
}

// startPeer builds the program and starts it.
func startPeer(section []byte, offsets []uint32, sum uint64) (*peer, error) {
	if found, _ := filepath.Glob(filepath.Join(debianCrates, "macho-unwind-info-*")); len(found) == 0 {
		return nil, fmt.Errorf("the crate macho-unwind-info is not there (Debian: librust-macho-unwind-info-dev, cargo)")
	}
	dir, err := os.MkdirTemp("", "clew-peer-")
	if err != nil {
		return nil, err
	}
	p := &peer{dir: dir, sum: strconv.FormatUint(sum, 10)}
	if err := p.start(section, offsets); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return p, nil
}

func (p *peer) start(section []byte, offsets []uint32) error {
	const source = "integration/bench/testdata/unwindpeer"
	if err := os.CopyFS(filepath.Join(p.dir, "crate"), os.DirFS(source)); err != nil {
		return err
	}
	build := exec.Command("cargo", "build", "--offline", "--release", "--quiet",
		"--config", `source.crates-io.replace-with="debian"`, "--config", `source.debian.directory="`+debianCrates+`"`)
	build.Dir = filepath.Join(p.dir, "crate")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cargo build: %w\n%s", err, out)
	}
	var data []byte
	for _, at := range offsets {
		data = binary.LittleEndian.AppendUint32(data, at)
	}
	paths := [2]string{filepath.Join(p.dir, "section"), filepath.Join(p.dir, "offsets")}
	for i, content := range [][]byte{section, data} {
		if err := os.WriteFile(paths[i], content, 0o600); err != nil {
			return err
		}
	}
	p.cmd = exec.Command(filepath.Join(build.Dir, "target", "release", "unwindpeer"), paths[0], paths[1])
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	return p.cmd.Start()
}

// round has it look up all offsets, and compares its results.
func (p *peer) round() error {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(line); got != p.sum {
		return fmt.Errorf("the encodings found add up to %s, not %s", got, p.sum)
	}
	return nil
}

func (p *peer) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.dir)
}
