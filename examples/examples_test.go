package examples

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestExamples runs every example, which must print the lines of its file expect in
// this order.
func TestExamples(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, tool := range []string{"objcopy", "strip", "python3", "protoc"} {
		testneed.Tool(t, tool)
	}
	if out, err := exec.Command("/usr/bin/python3", "-c", "import google.protobuf, grpc").CombinedOutput(); err != nil {
		testneed.LeaveOut(t, "the system's Python, which the plugin names, has no gRPC (Debian: python3-grpcio): %s", out)
	}
	bin := t.TempDir()
	brew := filepath.Join(bin, "brew")
	if err := errors.Join(testkit.BuildClew(filepath.Join(bin, "clew")),
		testkit.GoIn("brew", []string{"CC=" + testneed.CC(t), "CGO_ENABLED=1"}, "build", "-o", brew, ".")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("*/run.sh")
	if err != nil || len(found) < 10 {
		t.Fatalf("%d examples: %v", len(found), err)
	}
	for _, script := range found {
		t.Run(filepath.Dir(script), func(t *testing.T) {
			t.Parallel()
			expect, err := os.ReadFile(filepath.Join(filepath.Dir(script), "expect"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", script)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PROGRAM="+brew, "TMPDIR="+t.TempDir())
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			rest := string(out)
			for line := range strings.Lines(string(expect)) {
				words := strings.TrimSpace(line)
				_, after, ok := strings.Cut(rest, words)
				if !ok || words == "" {
					t.Fatalf("%q is missing or too early in\n%s", words, out)
				}
				rest = after
			}
		})
	}
}
