package integration

import (
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestRefusedEverywhere: files that Delve takes for others are refused in one line, whichever way they come to it: an executable
// for 32 bits, and a core file without notes. An executable with a damaged line table runs, and ends no session.
func TestRefusedEverywhere(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	folder := t.TempDir()
	good := filepath.Join(folder, "good")
	write(t, filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() { println(1) }\n"))
	build := exec.Command("go", "build", "-ldflags=-compressdwarf=false", "-o", good, filepath.Join(folder, "main.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	small := filepath.Join(folder, "small")
	build = exec.Command("go", "build", "-o", small, filepath.Join(folder, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+map[string]string{"amd64": "386", "arm64": "arm"}[runtime.GOARCH])
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bad, core := badLines(t, good), filepath.Join(folder, "core")
	write(t, core, emptyCore(t, good))

	const noNotes, bits = "it has no notes", "it is a 32-bit program"
	terminal := []string{"--allow-non-terminal-interactive"}
	headless := []string{"--headless", "-l", "127.0.0.1:0"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"stack", "--", small}, bits},
		{append([]string{"exec", small}, terminal...), bits},
		{append([]string{"exec", small}, headless...), bits},
		{[]string{"stack", "--core", core, good}, noNotes},
		{append([]string{"core", good, core}, terminal...), noNotes},
		{append([]string{"core", good, core}, headless...), noNotes},
	} {
		o := clew(t, c.args...)
		if all := o.stdout + o.stderr; o.code != failed || !strings.Contains(all, c.want) || strings.Contains(all, "goroutine ") {
			t.Errorf("want %q: %v", c.want, o)
		}
	}
	cmd := exec.Command(clewPath(), append([]string{"exec", bad}, terminal...)...)
	cmd.Stdin = strings.NewReader("break main.main\ncontinue\nprint 1+1\nexit\n")
	o := run(t, cmd)
	if o.want(t, done); !strings.Contains(o.stdout, "(dlv) 2\n") || strings.Contains(o.stdout+o.stderr, "goroutine ") {
		t.Errorf("a damaged line table: %v", o)
	}
	for want, arguments := range map[string]map[string]string{
		bits:    {"mode": "exec", "program": filepath.Base(small), "dlvCwd": filepath.Dir(small)},
		noNotes: {"mode": "core", "program": good, "coreFilePath": core},
	} {
		out := launchOnly(t, arguments)
		if !strings.Contains(out, "Failed to launch") || !strings.Contains(out, want) {
			t.Errorf("want %q: %s", want, out)
		}
	}
}

// TestDisassembleNothing: a program of which Delve knows no function is disassembled by clew, and the session ends when the editor does. Delve
// would not answer again.
func TestDisassembleNothing(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	exe, err := os.ReadFile(clewPath())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nosections")
	clear(exe[0x28:0x30]) // e_shoff
	clear(exe[0x3c:0x40]) // e_shnum, e_shstrndx
	write(t, path, exe)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	out := launchOnly(t, map[string]any{"mode": "exec", "program": path, "stopOnEntry": true},
		map[string]any{"command": "configurationDone"},
		map[string]any{"command": "disassemble", "arguments": map[string]any{"memoryReference": "0x401000", "instructionCount": 20}},
		map[string]any{"command": "threads"})
	if !strings.Contains(out, `"instructions":[{"address":"0x401000","instructionBytes":`) {
		t.Error(out)
	}
}

// badLines copies an executable, and makes the version of its first line table one that does not exist.
func badLines(t *testing.T, good string) (path string) {
	t.Helper()
	f, err := elf.Open(good)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(data[f.Section(".debug_line").Offset+4:], 9)
	path = filepath.Join(filepath.Dir(good), "bad")
	write(t, path, data)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// emptyCore is a core file of the executable's kind without segments.
func emptyCore(t *testing.T, executable string) []byte {
	t.Helper()
	data, err := os.ReadFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	header := data[:64]
	binary.LittleEndian.PutUint16(header[16:], uint16(elf.ET_CORE))
	clear(header[32:48]) // offsets of the tables of segments and sections
	clear(header[54:])   // sizes and numbers of their entries
	return header
}

// launchOnly returns what an editor is answered to a launch on standard output.
func launchOnly(t *testing.T, arguments any, then ...map[string]any) string {
	t.Helper()
	var input []io.Reader
	for i, request := range slices.Concat([]map[string]any{
		{"command": "initialize", "arguments": map[string]string{"adapterID": "go"}},
		{"command": "launch", "arguments": arguments},
	}, then, []map[string]any{{"command": "disconnect"}}) {
		request["seq"], request["type"] = i+1, "request"
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		message := strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		if request["command"] == "disassemble" { // once the program stands, and before the session ends
			input = append(input, pausing{}, message, pausing{})
		} else {
			input = append(input, message)
		}
	}
	cmd := exec.Command(clewPath(), "dap", "--stdio")
	cmd.Stdin, cmd.WaitDelay = io.MultiReader(input...), 10*time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v", err)
	}
	return string(out)
}

// pausing holds up what is behind it for the time that a program needs to start.
type pausing struct{}

func (pausing) Read([]byte) (int, error) {
	time.Sleep(testneed.Patience(time.Second))
	return 0, io.EOF
}
