package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have.
const mostMethods = 30

var method = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)(?:\[[^\]]*\])?\) \w+`)

// TestMethods: no type has more methods than one reads in one sitting.
func TestMethods(t *testing.T) {
	counts := map[string]int{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if path != "../.." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range method.FindAllSubmatch(text, -1) {
			counts[filepath.Dir(path)+"."+string(found[1])]++
		}
		return err
	})
	if err != nil || len(counts) < 500 {
		t.Fatalf("%d types, %v", len(counts), err)
	}
	for name, n := range counts {
		if n > mostMethods {
			t.Errorf("%s has %d methods, more than %d", name, n, mostMethods)
		}
	}
}
