package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/lifeline"
)

// TestEarly: a process that only waits is there, and small, before Delve and gRPC are set up.
func TestEarly(t *testing.T) {
	for arg, whole := range map[string]bool{lifeline.Command: false, "-test.run=^$": true} {
		cmd := exec.Command(os.Args[0], arg)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, name := range []string{"github.com/go-delve/delve/pkg/proc", "google.golang.org/grpc"} {
			if strings.Contains(string(out), "init "+name+" @") != whole {
				t.Errorf("%s: %s is set up: %v", arg, name, !whole)
			}
		}
	}
}
