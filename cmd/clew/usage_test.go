package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// ownCommand returns one of clew's commands in the whole tree.
func ownCommand(t *testing.T, name string) *cobra.Command {
	t.Helper()
	root, err := commandTree()
	if err != nil {
		t.Fatal(err)
	}
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
		{"--names=long", `--names: unknown style "long"; known: short, full; see clew stack --help`},
		{"--headles", "unknown flag: --headles; see clew stack --help"}, // Delve's, and means nothing here
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
	version := ownCommand(t, "version")
	version.SetOut(&out)
	if err := version.Help(); err != nil || !strings.Contains(out.String(), "--json") || strings.Contains(out.String(), "--headless") {
		t.Errorf("want --json and no --headless (%v) in:\n%s", err, out.String())
	}
	out.Reset()
	debug := ownCommand(t, "debug")
	debug.SetOut(&out)
	if err := debug.Help(); err != nil || !strings.Contains(out.String(), "--headless") {
		t.Errorf("dlv's command has lost its flags: %v\n%s", err, out.String())
	}
}

// TestDelvesFlags: what Delve's commands refuse names no Go function either, and the
// flag that was meant.
func TestDelvesFlags(t *testing.T) {
	for _, tt := range []struct{ flag, want string }{
		{"--api-version=abc", `--api-version takes a number, not "abc"`},
		{"--headles", "unknown flag: --headles; did you mean --headless?"},
	} {
		root, err := commandTree()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		root.SetErr(&out)
		root.SetOut(&out)
		root.SetArgs([]string{"debug", tt.flag})
		if err := root.Execute(); err == nil || err.Error() != tt.want || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", tt.flag, err, out.String())
		}
	}
}

func TestUnknown(t *testing.T) {
	err := unknown("format", "jsn", []string{"text", "json"})
	if want := `unknown format "jsn"; known: text, json; did you mean json?`; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if code, _ := exitCode(err); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}
