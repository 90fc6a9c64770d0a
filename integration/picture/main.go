package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	picture, err := draw()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(strings.TrimSpace(string(root)), picturePath), picture, 0o644)
}

// picturePath is the picture's, from the module's root.
var picturePath = filepath.Join("docs", "demo.svg")

// draw runs the demo and returns its picture.
func draw() ([]byte, error) {
	cmd := exec.Command("go", "run", "github.com/clewdbg/clew/cmd/clew", "demo")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("clew demo: %w", err)
	}
	return svg("$ clew demo\n" + string(text)), nil
}

// Sizes in pixels. A character of the font is less than 0.62 em wide in every
// usual font.
const (
	fontSize   = 13
	lineHeight = 18
	margin     = 16
	charWidth  = 8.06
)

const style = `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
.page{fill:#f6f8fa}.cfi{fill:#116329}.context{fill:#0550ae}.frame-pointer{fill:#7d4e00}.scan,.wrong{fill:#a40e26}.dim{fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#161b22}.cfi{fill:#7ee787}.context{fill:#79c0ff}.frame-pointer{fill:#e3b341}.scan,.wrong{fill:#ffa198}.dim{fill:#9198a1}}
`

// svg draws lines of text.
func svg(text string) []byte {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	columns := 0
	for _, line := range lines {
		columns = max(columns, len([]rune(line)))
	}
	var b bytes.Buffer
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<title>The output of clew demo</title>\n<style>\n%s</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\" rx=\"8\"/>\n",
		width, height, width, height, style)
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" class="%s" xml:space="preserve">`, margin, margin+fontSize+i*lineHeight, class(line))
		_ = xml.EscapeText(&b, []byte(line)) // a bytes.Buffer takes everything
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// class is a line's colour: a frame's trust is its second word.
func class(line string) string {
	words := strings.Fields(line)
	switch {
	case len(words) > 2 && strings.HasPrefix(line, " ") && words[1] != "trust" && strings.Trim(words[0], "0123456789") == "":
		return words[1]
	case strings.Contains(line, "do not exist"), strings.HasPrefix(line, "  #"):
		return "wrong"
	case strings.HasPrefix(line, "      ----"), strings.Contains(line, "trust    strategy"), strings.HasSuffix(line, "..."):
		return "dim"
	}
	return "plain"
}
