package listing

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// causes are programs that hang or leak, in the order in which documents have their pages,
// and what shows why.
var causes = []struct {
	program string
	shows   []string
}{
	{"deadlock", []string{"sync.Mutex.Lock", "40 goroutines", "main.report", "main.transfer", "created by main.main"}},
	{"leak", []string{"chan send", " channels", "main.fetch", "main.handle", "leak/main.go:11"}},
	{"hang", []string{"goroutines: syscall", "pthread_mutex_lock", "query", "main.query", "created by main.main"}},
}

// mostLines is in how many lines a page shows the cause.
const mostLines = 30

// TestCause: the first lines of a listing show why a program hangs or leaks. README.md
// and docs/listing.md have these pages: those of README.md are the beginnings of the others,
// and what a page says of the program's own code is what clew prints.
func TestCause(t *testing.T) {
	begun, whole := pages(t, "../../../README.md"), pages(t, "../../../docs/listing.md")
	for i, c := range causes {
		t.Run(c.program, func(t *testing.T) {
			if !strings.HasPrefix(whole[i], begun[i]) || strings.Count(begun[i], "\n") > mostLines {
				t.Errorf("README.md does not have the first %d lines of docs/listing.md:\n%s", mostLines, begun[i])
			}
			cmd := startReady(t, c.program)
			page := stack(t, "--pid", strconv.Itoa(cmd.Process.Pid))
			lines := strings.SplitAfter(page, "\n")
			first := strings.Join(lines[:min(len(lines), mostLines)], "")
			for _, want := range c.shows {
				if !strings.Contains(first, want) || !strings.Contains(begun[i], want) {
					t.Errorf("there is no %q in\n%s\nor in README.md", want, first)
				}
			}
			printed := ownLines(page, c.program)
			for _, l := range ownLines(whole[i], c.program) {
				if !slices.Contains(printed, l) {
					t.Errorf("docs/listing.md has %q; clew prints\n%s", l, page)
				}
			}
		})
	}
}

// pages are the listings that a document shows.
func pages(t *testing.T, path string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```\n(process .*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, block[1])
	}
	if len(out) != len(causes) {
		t.Fatalf("%s has %d listings, not %d", path, len(out), len(causes))
	}
	return out
}

// varies is what differs from run to run: a row's index, counts, addresses, cgo's hash.
var varies = regexp.MustCompile(`^ *[\d,]+ +|0x[0-9a-f]+|_cgo_[0-9a-f]+_| +`)

// ownLines are the lines about a program's own code.
func ownLines(page, program string) (out []string) {
	for line := range strings.Lines(page) {
		if strings.Contains(line, "main.") || strings.Contains(line, program+"/main.go") {
			out = append(out, strings.TrimSpace(varies.ReplaceAllString(line, " ")))
		}
	}
	return out
}

// startReady builds a program of testdata, and starts it; it says when it is ready.
func startReady(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	testneed.Ptrace(t)
	testneed.CC(t)
	program := filepath.Join(t.TempDir(), name)
	if err := testkit.Go("build", "-o", program, "./testdata/"+name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(cmd) })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cmd
}
