package dap

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// waits is a program that waits in C, with a list in C's heap.
const waits = `package main

// #include <stdio.h>
// #include <stdlib.h>
// #include <unistd.h>
// struct node { int value; struct node *next; };
// static struct node *made(int value, struct node *next) {
// 	struct node *n = malloc(sizeof *n);
// 	n->value = value;
// 	n->next = next;
// 	return n;
// }
// static void hang(struct node *first, int count) {
// 	puts("waits");
// 	fflush(stdout);
// 	for (;;) { usleep(1000); first->value = count; }
// }
// static void begin(void) { hang(made(7, made(8, NULL)), 7); }
import "C"

func main() { C.begin() }
`

// TestValuesOfRunning: what a running process holds in its heap is read while it stands still. Where that may take no time, what
// was not copied is unknown, with that reason, and never wrong. The process goes on.
func TestValuesOfRunning(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": waits, "go.mod": "module waits\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CGO_CFLAGS", "-O0 -g")
	if err := buildGo(dir, "waits", "."); err != nil {
		t.Fatal(err)
	}
	p := exec.Command(binary("waits"))
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Process.Kill(), p.Wait() })
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	for _, pause := range []string{"1ns", "10s"} {
		began := time.Now()
		var answer struct{ Stacks []stackOf }
		cmd := exec.Command(binary("clew"), "stack", "--pid", strconv.Itoa(p.Process.Pid), "--values", "all", "--max-pause", pause, "--format", "json")
		text, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 0 && (pause != "1ns" || code != 3) {
			t.Fatalf("%s: %v: %.500s", pause, err, text)
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", pause, time.Since(began))
		var first *stackjson.Value
		for _, s := range answer.Stacks {
			for _, f := range s.Frames {
				if f.Function == "hang" {
					first = at(f.Values, "first")
				}
			}
		}
		if first == nil && pause == "1ns" {
			continue // nothing was copied, which the exit code says
		}
		if first == nil || !strings.HasPrefix(first.Value, "0x") {
			t.Fatalf("%s: first is %+v", pause, first)
		}
		held := at(first.Children, "*first.value")
		next := at(first.Children, "*first.next.*next.value")
		switch {
		case pause == "10s" && (held == nil || held.Value != "7" || next == nil || next.Value != "8"):
			t.Errorf("the list holds %+v, %+v", held, next)
		case held != nil && held.Value != "7" && !strings.Contains(held.Unknown, "not copied"):
			t.Errorf("%s: the list holds %+v", pause, held)
		}
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Process.Pid), "status"))
		if err != nil || strings.Contains(string(status), "State:\tt") || !strings.Contains(string(status), "TracerPid:\t0") {
			t.Errorf("the process does not go on: %v\n%.300s", err, status)
		}
	}
}
