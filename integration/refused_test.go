package integration

import (
	"debug/dwarf"
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
	"strconv"
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

// TestUnreadable: an executable that Delve does not survive ends its own session. Terminal and editor are told which file it was, and a
// process that runs it goes on.
func TestUnreadable(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	folder := t.TempDir()
	exe := filepath.Join(folder, "unreadable")
	write(t, filepath.Join(folder, "main.go"), []byte("package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(time.Hour) }\n"))
	if out, err := exec.Command("go", "build", "-ldflags=-compressdwarf=false", "-o", exe, filepath.Join(folder, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cutEntries(t, exe)
	process := exec.Command(exe)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = process.Process.Kill(), process.Wait() }()
	want, pid := "Delve could not read "+exe, strconv.Itoa(process.Process.Pid)
	for _, args := range [][]string{{"exec", exe}, {"attach", pid}} {
		o := clew(t, append(args, "--allow-non-terminal-interactive")...)
		if o.code == done || !strings.Contains(o.stderr, want) {
			t.Errorf("%v", o)
		}
	}
	for command, arguments := range map[string]map[string]any{
		"launch": {"mode": "exec", "program": exe}, "attach": {"mode": "local", "processId": process.Process.Pid},
	} {
		if out, err := begin(t, command, arguments); err == nil || !strings.Contains(out, want) || !strings.Contains(out, `"terminated"`) {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "TracerPid:\t0\n") || !strings.Contains(string(status), "State:\tS") {
		t.Errorf("%v: %s", err, status)
	}
}

// cutEntries ends an executable's DWARF before its last inlined call: the function that has it has no end.
func cutEntries(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	var unit, unitOfLast, last dwarf.Offset
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			unit = e.Offset
		case dwarf.TagInlinedSubroutine:
			unitOfLast, last = unit, e.Offset
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := f.Section(".debug_info")
	begin := unitOfLast - 12 // the header of a unit of DWARF 5
	if at := section.Offset + uint64(begin); binary.LittleEndian.Uint16(data[at+4:]) != 5 {
		t.Fatal("the unit is not of DWARF 5")
	} else {
		binary.LittleEndian.PutUint32(data[at:], uint32(last-begin-4))
	}
	header := binary.LittleEndian.Uint64(data[40:]) + uint64(slices.Index(f.Sections, section))*64
	binary.LittleEndian.PutUint64(data[header+32:], uint64(last))
	write(t, path, data)
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
	out, err := begin(t, "launch", arguments, then...)
	if err != nil {
		t.Errorf("%v", err)
	}
	return out
}

// begin is one editor's session: it launches or attaches.
func begin(t *testing.T, command string, arguments any, then ...map[string]any) (string, error) {
	t.Helper()
	var input []io.Reader
	for i, request := range slices.Concat([]map[string]any{
		{"command": "initialize", "arguments": map[string]string{"adapterID": "go"}},
		{"command": command, "arguments": arguments},
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
	return string(out), err
}

// pausing holds up what is behind it for the time that a program needs to start.
type pausing struct{}

func (pausing) Read([]byte) (int, error) {
	time.Sleep(testneed.Patience(time.Second))
	return 0, io.EOF
}
