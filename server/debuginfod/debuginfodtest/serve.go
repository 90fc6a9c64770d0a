// Package debuginfodtest runs Debian's debuginfod for tests.
package debuginfodtest

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// Serve runs debuginfod over a folder until the test ends, and returns its address.
func Serve(t testing.TB, folder string) string {
	t.Helper()
	program := testneed.Tool(t, "debuginfod")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(program, "-d", filepath.Join(t.TempDir(), "db"), "-p", fmt.Sprint(port), "-t", "0", "-c", "1", "-F", folder)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// Wait waits until the server knows a build by all kinds of its files.
func Wait(t testing.TB, url string, id []byte, kinds ...string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for _, kind := range kinds {
		for {
			r, err := http.Get(url + "/buildid/" + hex.EncodeToString(id) + "/" + kind)
			if err == nil {
				r.Body.Close()
				if r.StatusCode == http.StatusOK {
					break
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("debuginfod has no %s of %x after a minute: %v", kind, id, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}
