package terminal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpccommon"
	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/stop"
)

// TestTakeOver: Delve has every command that clew takes over, with every flag that it
// reads; where it has not, the error names the entry.
func TestTakeOver(t *testing.T) {
	root := delve.CommandTree()
	if taken, err := TakeOver(root, func() Options { return Options{} }); err != nil || len(taken) != len(commands) {
		t.Errorf("%d commands taken over, %v", len(taken), err)
	}
	var changed *internals.Error
	for name := range commands {
		root := delve.CommandTree()
		for _, c := range root.Commands() {
			if c.Name() == name {
				root.RemoveCommand(c)
			}
		}
		if _, err := TakeOver(root, nil); !errors.As(err, &changed) || changed.Entry != internals.EntryCommands {
			t.Errorf("without %s: %v", name, err)
		}
	}
	bare := &cobra.Command{}
	for name := range commands {
		bare.AddCommand(&cobra.Command{Use: name})
	}
	if _, err := TakeOver(bare, nil); !errors.As(err, &changed) {
		t.Errorf("without flags: %v", err)
	}
}

// TestReadFlags: flags are read as Delve's command line has them, and those that a
// command does not have are as if they were not given.
func TestReadFlags(t *testing.T) {
	root := delve.CommandTree()
	var c *cobra.Command
	for _, each := range root.Commands() {
		if each.Name() == "attach" {
			c = each
		}
	}
	if err := c.ParseFlags([]string{"--headless", "--listen=:1", "--api-version=1", "--waitfor=x", "--waitfor-interval=2.5", "-r", "stdout:a"}); err != nil {
		t.Fatal(err)
	}
	f := readFlags(c)
	if !f.headless || f.listen != ":1" || f.apiVersion != 1 || f.waitFor != "x" || f.waitForInterval != 2.5 || f.tty != "" || !f.rrCleanup ||
		len(f.redirects) != 1 || f.redirects[0] != "stdout:a" {
		t.Errorf("%+v", f)
	}
}

// TestOverlay: Delve's server has every method that clew replaces, with the type that
// clew's has.
func TestOverlay(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	path := filepath.Join(t.TempDir(), "stops")
	if out, err := exec.Command("go", "build", "-o", path, "../delve/testdata/stops").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	listener, client := service.ListenerPipe()
	defer client.Close()
	impl := rpccommon.NewServer(&service.Config{
		Listener: listener, ProcessArgs: []string{path}, APIVersion: 2, DisconnectChan: make(chan struct{}),
		Debugger: debugger.Config{Backend: "default", WorkingDir: ".", Stdin: os.DevNull},
	})
	if err := impl.Run(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = impl.Stop() }()
	s := &server{stacks: stop.NewStacks(stop.StacksOptions{}, delve.Moment)}
	if err := s.overlay(impl); err != nil {
		t.Error(err)
	}
	if s.dbg == nil || s.dbg.ProcessPid() == 0 || s.delve == nil {
		t.Errorf("%+v", s)
	}
}
