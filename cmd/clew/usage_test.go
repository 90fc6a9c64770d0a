package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/delve"
)

// ownCommand returns one of clew's commands in the whole tree.
func ownCommand(t *testing.T, name string) *cobra.Command {
	root := delve.CommandTree()
	addCommands(root)
	c, _, err := root.Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFlagProblem(t *testing.T) {
	for _, tt := range []struct{ flag, want string }{
		{"--brek=x", "unknown flag: --brek; did you mean --break?; see clew stack --help"},
		{"--zzzzzz", "unknown flag: --zzzzzz; see clew stack --help"},
		{"--pid=abc", `--pid takes a number, not "abc"; see clew stack --help`},
		{"--pid=99999999999999999999", "--pid 99999999999999999999 is out of range; see clew stack --help"},
	} {
		c := ownCommand(t, "stack")
		err := c.FlagErrorFunc()(c, c.ParseFlags([]string{tt.flag}))
		if err.Error() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.flag, err, tt.want)
		}
		if code, _ := exitCode(err); code != exitUsage {
			t.Errorf("%s: exit code %d", tt.flag, code)
		}
	}
}

func TestHelpLeavesDelvesFlagsOut(t *testing.T) {
	c := ownCommand(t, "stack")
	var out bytes.Buffer
	c.SetOut(&out)
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "--pid") || strings.Contains(text, "--headless") {
		t.Errorf("want --pid and no --headless in:\n%s", text)
	}
	out.Reset()
	debug := ownCommand(t, "debug")
	debug.SetOut(&out)
	if err := debug.Help(); err != nil || !strings.Contains(out.String(), "--headless") {
		t.Errorf("dlv's command has lost its flags: %v\n%s", err, out.String())
	}
}

func TestCompleteProcess(t *testing.T) {
	list, _ := completeProcess(nil, nil, "")
	for _, entry := range list {
		pid, exe, _ := strings.Cut(entry, "\t")
		if n, err := strconv.Atoi(pid); err != nil || n == os.Getpid() || exe == "" {
			t.Errorf("%q", entry)
		}
	}
	if runtime.GOOS != "linux" {
		return // nothing lists processes there
	}
	if parent := strconv.Itoa(os.Getppid()); !strings.Contains(strings.Join(list, "\n"), parent+"\t") {
		t.Errorf("the parent %s is missing in %q", parent, list)
	}
}
