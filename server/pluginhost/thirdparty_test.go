package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/unwind/wire"
)

func buildExample(t *testing.T) Config {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "framechain")
	build := exec.Command("go", "build", "-o", exe, "github.com/clewdbg/clew/unwind/plugin/example")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return Config{Name: "framechain", Path: exe, SHA256: checksum(t, exe)}
}

func checksum(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestThirdParty(t *testing.T) {
	good := buildExample(t)
	with := func(c Config) func(*Options) { return func(o *Options) { o.Plugins = []Config{c} } }

	t.Run("good", func(t *testing.T) {
		h, p, _ := newHost(t, with(good))
		checkWalk(t, p, 50)
		if got := h.Health()[0]; got.Builtin || got.Path != good.Path {
			t.Errorf("health %+v", got)
		}
	})
	t.Run("replaced after the check", func(t *testing.T) {
		c := good
		c.Path = filepath.Join(t.TempDir(), "copy")
		data, err := os.ReadFile(good.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path, data, 0o700); err != nil {
			t.Fatal(err)
		}
		_, p, _ := newHost(t, with(c))
		checkWalk(t, p, 5)
		if err := os.Remove(c.Path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		killPlugin(t, p)
		checkWalk(t, p, 5) // the checked bytes are the ones that run
	})
	t.Run("wrong checksum", func(t *testing.T) {
		c := good
		c.SHA256 = strings.Repeat("0f", 32)
		_, p, sent := newHost(t, with(c))
		var sum *ChecksumError
		if _, err := p.Describe(context.Background()); !errors.As(err, &sum) || sum.Got != good.SHA256 {
			t.Fatalf("got %v", err)
		}
		var off *DisabledError
		if _, err := p.Describe(context.Background()); !errors.As(err, &off) || !errors.As(err, &sum) {
			t.Errorf("got %v", err)
		}
		if got := sent.take(); len(got) != 1 {
			t.Errorf("the user was told %q", got)
		}
	})
	t.Run("missing", func(t *testing.T) {
		c := good
		c.Path = "/nonexistent/framechain"
		_, p, _ := newHost(t, with(c))
		if _, err := p.Describe(context.Background()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), c.Path) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no plugin", func(t *testing.T) {
		c := good
		c.Path = filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(c.Path, []byte("#!/bin/sh\necho hello; exit 3\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		c.SHA256 = checksum(t, c.Path)
		_, p, _ := newHost(t, with(c))
		_, err := p.Describe(context.Background())
		var start *StartError
		if !errors.As(err, &start) || !strings.Contains(err.Error(), "hello") || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no program", func(t *testing.T) {
		c := good
		c.Path = filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(c.Path, []byte{1, 2, 3}, 0o700); err != nil {
			t.Fatal(err)
		}
		c.SHA256 = checksum(t, c.Path)
		_, p, sent := newHost(t, with(c))
		if _, err := p.Describe(context.Background()); !errors.Is(err, syscall.ENOEXEC) {
			t.Errorf("got %v", err)
		}
		if got := sent.take(); len(got) != 1 {
			t.Errorf("the user was told %q", got)
		}
	})
	t.Run("another name", func(t *testing.T) {
		c := good
		c.Name = "dwarfcfi"
		_, p, _ := newHost(t, with(c))
		var lie *wire.ContractError
		if _, err := p.Describe(context.Background()); !errors.As(err, &lie) {
			t.Errorf("got %v", err)
		}
	})
}
