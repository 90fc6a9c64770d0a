package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/throughproxy"
)

// TestFixtures finds the programs of Delve's tests of DAP in their source.
func TestFixtures(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-delve/delve").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite, module := throughproxy.Suites[0], strings.TrimSpace(string(out))
	got, err := fixturesOf(filepath.Join(module, "_fixtures"), filepath.Join(module, suite.Folder, "server_test.go"), regexp.MustCompile(suite.Part+"|^TestAttachRemoteToDlvAttachHaltedStopOnEntry$|^TestConcurrentBreakpointsLogPoints$|^TestLaunchRequestWithEnv$|^TestLaunchTestRequest$"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"increment.go", "loopprog.go", "testvariables.go", "http_server.go", "goroutinestackprog.go", "testenv.go", "buildtest/main.go"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q, without %s", got, want)
		}
	}
}
