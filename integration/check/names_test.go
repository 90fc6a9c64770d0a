package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are tests that comments and documents cite and that are not clew's.
var elsewhere = map[string]string{}

var (
	definedTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	citedTest   = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*\b`)
	citedRule   = regexp.MustCompile(`\bR(?:[1-9]|1[0-7])\b`)
)

// TestNamesExist: every test that a comment or a document names exists, and so does
// every rule, in docs/rules.md.
func TestNamesExist(t *testing.T) {
	defined, cited, rules := map[string]bool{}, map[string][]string{}, map[string][]string{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if path != "../.." && (strings.HasPrefix(name, ".") || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		isGo := strings.HasSuffix(path, ".go")
		if !isGo && !strings.HasSuffix(path, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			for _, found := range definedTest.FindAllSubmatch(text, -1) {
				defined[string(found[1])] = true
			}
		}
		prose := string(text)
		if isGo {
			prose = comments(text)
		}
		for _, name := range citedTest.FindAllString(prose, -1) {
			cited[name] = append(cited[name], path)
		}
		for _, name := range citedRule.FindAllString(prose, -1) {
			rules[name] = append(rules[name], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, paths := range cited {
		if !defined[name] && elsewhere[name] == "" {
			slices.Sort(paths)
			t.Errorf("there is no test %s, which is named in %s", name, strings.Join(slices.Compact(paths), ", "))
		}
	}
	for name := range elsewhere {
		if len(cited[name]) == 0 || defined[name] {
			t.Errorf("%s is not cited any more, or is clew's: take it off the list", name)
		}
	}
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, paths := range rules {
		// A rule is defined in a heading or a table's row that begins with it.
		if !regexp.MustCompile(`(?m)^(?:#+|\|)\s*\W*` + name + `\b`).Match(text) {
			slices.Sort(paths)
			t.Errorf("docs/rules.md does not define %s, which is named in %s", name, strings.Join(slices.Compact(paths), ", "))
		}
	}
}

// comments returns the comments of a Go file.
func comments(text []byte) string {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(text)), text, nil, scanner.ScanComments)
	var out strings.Builder
	for {
		_, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return out.String()
		case token.COMMENT:
			out.WriteString(literal + "\n")
		}
	}
}
