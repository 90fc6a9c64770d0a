package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/export"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	// Up to a pipe, the next command, a comment, or the program's own arguments.
	quotedCommand = regexp.MustCompile(`(?m)(?:^|[|;(] ?|&& )(?:\$ )?clew ([a-z][^|;#\n]*)`)
	quotedFlag    = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// TestDocuments: every command of clew's that a document quotes exists, with its flags.
func TestDocuments(t *testing.T) {
	root, err := commandTree()
	if err != nil {
		t.Fatal(err)
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	commands := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../examples/*.md", "../../vscode-extension/README.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("no pages %s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, command := range quotedCommands(string(text)) {
				commands++
				if what := missing(root, command); what != "" {
					t.Errorf("%s: clew %s: there is no %s", page, command, what)
				}
			}
		}
	}
	if commands < 120 {
		t.Errorf("only %d commands were found", commands)
	}
	if got := missing(root, "stack --brek x"); got != "--brek" {
		t.Errorf("a flag that does not exist: %q", got)
	}
	if got := missing(root, "stak"); got != "command" {
		t.Errorf("a command that does not exist: %q", got)
	}
}

// quotedCommands returns what follows clew in a page's code.
func quotedCommands(text string) (all []string) {
	var code []string
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		code = append(code, block[1])
	}
	for _, span := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		code = append(code, strings.ReplaceAll(span[1], "\n", " "))
	}
	for _, c := range code {
		for _, found := range quotedCommand.FindAllStringSubmatch(c, -1) {
			command, _, _ := strings.Cut(found[1], " -- ")
			all = append(all, command)
		}
	}
	return all
}

// elsewhere are a command that Delve has only where rr is installed, and one of an
// editor's debug console.
var elsewhere = []string{"replay", "export"}

// missing says what of a command line does not exist, "" if all of it does.
func missing(root *cobra.Command, command string) string {
	words := strings.Fields(command)
	if slices.Contains(elsewhere, words[0]) {
		return ""
	}
	c, _, err := root.Find(words[:1])
	if err != nil || c == root {
		return "command"
	}
	if len(words) > 1 && c.HasSubCommands() {
		if c, _, err = root.Find(words[:2]); err != nil {
			return "command"
		}
	}
	for _, flag := range quotedFlag.FindAllStringSubmatch(command, -1) {
		if c.Flag(flag[1]) == nil && flag[1] != "help" {
			return "--" + flag[1]
		}
	}
	return ""
}

// TestFormatsOfExtension: the extension offers the formats that there are, in their order.
func TestFormatsOfExtension(t *testing.T) {
	text, err := os.ReadFile("../../vscode-extension/src/protocol.ts")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`exportFormats = \[([^\]]*)\]`).FindSubmatch(text)
	if list == nil {
		t.Fatal("protocol.ts has no list of formats")
	}
	var offered []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllSubmatch(list[1], -1) {
		offered = append(offered, string(m[1]))
	}
	if !slices.Equal(offered, export.FormatNames()) {
		t.Errorf("the extension offers %q, there are %q", offered, export.FormatNames())
	}
}
