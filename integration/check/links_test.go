package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	namedLink  = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s*(\S+)`)
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	headingRow = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: every link in a document leads to a file of this repository, and to a
// heading in it, or elsewhere by https.
func TestLinks(t *testing.T) {
	const root = "../.."
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{} // by path from the root: the text without code
	for page := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		pages[page] = codeBlock.ReplaceAllString(string(text), "")
	}
	if len(pages) < 10 {
		t.Fatalf("only %d documents", len(pages))
	}
	for page, text := range pages {
		prose := codeSpan.ReplaceAllString(text, "")
		for _, link := range append(inlineLink.FindAllStringSubmatch(prose, -1), namedLink.FindAllStringSubmatch(prose, -1)...) {
			u, err := url.Parse(link[1])
			switch {
			case err != nil:
				t.Errorf("%s: %v", page, err)
			case u.Scheme == "https":
			case u.Scheme != "" || u.Host != "":
				t.Errorf("%s: the link %s is neither to a file nor https", page, link[1])
			default:
				target := page
				if u.Path != "" {
					target = filepath.Join(filepath.Dir(page), u.Path)
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil || strings.HasPrefix(target, "..") {
					t.Errorf("%s: %s leads nowhere", page, link[1])
				} else if u.Fragment != "" && !anchors(pages[target])[u.Fragment] {
					t.Errorf("%s: %s has no heading %s", page, target, u.Fragment)
				}
			}
		}
	}
}

var namedAnchor = regexp.MustCompile(`(?m)^<a id="([^"]+)"></a>$`)

// anchors are the names that GitHub gives a page's headings, and those that the page gives itself.
func anchors(text string) map[string]bool {
	set := map[string]bool{}
	for _, a := range namedAnchor.FindAllStringSubmatch(text, -1) {
		set[a[1]] = true
	}
	for _, h := range headingRow.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.ReplaceAll(h[1], "`", ""))
		set[strings.ReplaceAll(notAnchor.ReplaceAllString(name, ""), " ", "-")] = true
	}
	return set
}
