package integration

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var drawn = flag.Bool("draw", false, "TestPicture draws docs/demo.svg anew")

// TestPicture: the picture in the README, docs/demo.svg, shows what the demo prints today, with the colours of trust.
func TestPicture(t *testing.T) {
	testneed.Ptrace(t)
	testneed.CC(t)
	path := filepath.Join("..", "docs", "demo.svg")
	picture := svg("$ clew demo\n" + run(t, exec.Command(clewPath(), "demo")).want(t, done).stdout)
	if *drawn {
		if err := os.WriteFile(path, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := steady(kept), steady(picture); want != got {
		t.Errorf("docs/demo.svg is another picture than\n%s\nMake it anew: go test ./integration -run TestPicture -draw", got)
	}
}

var (
	compiler = regexp.MustCompile(`C code \(.*\)`)
	numbers  = regexp.MustCompile(`0x[0-9a-f]+|_[0-9a-f]{12}_|\d+`)
	blanks   = regexp.MustCompile(` +|-+`)
)

// steady leaves out what differs from machine to machine: addresses, lines of Go's
// sources, and the widths that follow from them.
func steady(picture []byte) string {
	text := compiler.ReplaceAll(picture, []byte("C code"))
	return string(blanks.ReplaceAll(numbers.ReplaceAll(text, []byte("N")), []byte(" ")))
}

// TestClass: lines have the colours of what they say.
func TestClass(t *testing.T) {
	for line, want := range map[string]string{
		"   0  context  registers  0x4a0477  stop_here  src/native.c:13": "context",
		"   1  cfi      dwarfcfi   0x4a0490  whisk      src/native.c:18": "cfi",
		"   #  trust    strategy   pc        function   where":           "dim",
		"  end: runtime.goexit": "plain",
		"Delve alone shows 29 frames here, and 3 of them do not exist:": "wrong",
	} {
		if got := class(line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
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
