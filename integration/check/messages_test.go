package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	quoted = regexp.MustCompile("(?m)^\\* `([^`]+)`")
	verbs  = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
)

// delves are messages of Delve's, which clew passes on.
var delves = []string{"could not find goroutine array", `Location "..." ambiguous`, "Stdin is not a terminal", "no debug info found, some functionality will be missing"}

// TestMessages: clew still has every message that docs/troubleshooting.md quotes.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, folder := range []string{"cmd", "server", "internal", "unwind", "plugins"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			texts = append(texts, literals(text)...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	messages := quoted.FindAllStringSubmatch(string(page), -1)
	if len(messages) < 15 {
		t.Fatalf("only %d messages", len(messages))
	}
	for _, m := range messages {
		message := m[1]
		if !slices.Contains(delves, message) && !slices.ContainsFunc(texts, func(text string) bool { return says(text, message) }) {
			t.Errorf("clew has no message %q", message)
		}
	}
}

// says reports that a text, with verbs where it differs, is or has the message, with
// "..." there.
func says(text, message string) bool {
	dotted := verbs.ReplaceAllString(text, "...")
	if strings.Contains(dotted, message) {
		return true
	}
	if fixed := len(dotted) - 3*strings.Count(dotted, "..."); fixed < len(message)/2 || fixed > len(message) {
		return false
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(dotted), `\.\.\.`, ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(message)
}

// literals are the strings in a Go file; strings that are added are one.
func literals(source []byte) []string {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(source)), source, nil, 0)
	var all []string
	adds := false
	for before := token.EOF; ; {
		_, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return all
		case token.STRING:
			text, err := strconv.Unquote(literal)
			switch {
			case err != nil:
			case adds:
				all[len(all)-1] += text
			default:
				all = append(all, text)
			}
		}
		adds = kind == token.ADD && before == token.STRING
		before = kind
	}
}

// TestSays: verbs stand for what differs, and a message that is nowhere is found out.
func TestSays(t *testing.T) {
	for _, c := range []struct {
		text, message string
		want          bool
	}{
		{"there is no %s %s; list them with --%s all", "there is no goroutine ...; list them with --goroutine all", true},
		{"no Delve server at %s (%v)", "no Delve server at ...", true},
		{"%s: %w", "no such message at all", false},
		{"there is no thread", "there is no goroutine", false},
	} {
		if got := says(c.text, c.message); got != c.want {
			t.Errorf("%q, %q: %v", c.text, c.message, got)
		}
	}
	if got := literals([]byte("package a; var b = \"one \" +\n\"two\"; var c = \"three\"")); !slices.Equal(got, []string{"one two", "three"}) {
		t.Errorf("%q", got)
	}
}
