package tools

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// drawn returns on which line of ARCHITECTURE.md's picture each part of the server is.
func drawn(t *testing.T) map[string]int {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "```\n cmd/clew")
	picture, _, _ = strings.Cut(picture, "```")
	lines := make(map[string]int)
	for n, line := range strings.Split(picture, "\n") {
		for _, part := range regexp.MustCompile(`server/\w+`).FindAllString(line, -1) {
			lines[part] = n
		}
	}
	if len(lines) < 10 {
		t.Fatalf("the picture has %d parts of the server", len(lines))
	}
	return lines
}

// TestPicture: each import between parts that ARCHITECTURE.md draws leads down in its picture.
func TestPicture(t *testing.T) {
	lines, seen := drawn(t), 0
	part := func(path string) string {
		return strings.Join(strings.SplitN(path, "/", 3)[:min(2, strings.Count(path, "/")+1)], "/")
	}
	err := filepath.WalkDir("../server", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from, drawn := lines[part(filepath.ToSlash(strings.TrimPrefix(path, "../")))]
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			name, ours := strings.CutPrefix(imported, clew)
			to, known := lines[part(name)]
			if !ours || !drawn || !known || part(name) == part(filepath.ToSlash(strings.TrimPrefix(path, "../"))) {
				continue
			}
			if seen++; to <= from {
				t.Errorf("%s imports %s, which is not below it in the picture of ARCHITECTURE.md", path, imported)
			}
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("%d imports were seen: %v", seen, err)
	}
}
