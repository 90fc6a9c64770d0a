package dap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// watched is a program whose C code writes to the members of an array's elements.
const watched = `package main

// struct cell { int a; int b : 4; long c; };
// static struct cell cells[2] = {{1, 2, 3}, {4, 5, 6}};
// static void change(struct cell *one) {
// 	__asm__ volatile("int3; nop");
// 	cells[0].c = 30;
// 	one->a = 40;
// 	__asm__ volatile("" ::: "memory");
// 	cells[1].c = 60;
// }
// static void begin(void) { change(&cells[1]); }
import "C"

func main() { C.begin() }
`

// TestWatchedMembers: a data breakpoint on a member of an array's element in C stops when that is written, and not before. What
// the processor cannot watch is refused with the reason.
func TestWatchedMembers(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.CC(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": watched, "go.mod": "module watched\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CGO_CFLAGS", "-O0 -g")
	if err := buildGo(dir, "watched", "."); err != nil {
		t.Fatal(err)
	}
	for _, byName := range []bool{false, true} {
		c := start(t, binary("clew")).dial()
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": binary("watched"), "outputMode": "remote"})
		c.event("initialized")
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		frame := c.stack(thread, 0, 50).StackFrames[0]
		evaluated := func(expression string) string {
			return c.ok("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})["result"].(string)
		}
		element := c.ok("evaluate", object{"expression": "cells[1]", "frameId": frame.ID, "context": "watch"})
		member := object{"name": "c", "variablesReference": element["variablesReference"]}
		if byName {
			member = object{"name": "cells[1].c", "frameId": frame.ID}
		}
		id := c.ok("dataBreakpointInfo", member)["dataId"]
		for name, why := range map[string]string{"cells[1].b": "bit field", "cells": "32 bytes", "cells[1].c + 1": "one piece of memory"} {
			if m := c.request("dataBreakpointInfo", object{"name": name, "frameId": frame.ID}); m.Success || !strings.Contains(string(m.Bytes()), why) {
				t.Errorf("%s: %s", name, m.Bytes())
			}
		}
		c.ok("setDataBreakpoints", object{"breakpoints": []object{{"dataId": id, "accessType": "write"}}})
		c.ok("continue", object{"threadId": thread})
		thread = threadOf(t, c.event("stopped"))
		frame = c.stack(thread, 0, 50).StackFrames[0]
		if got := evaluated("cells[0].c") + " " + evaluated("cells[1].a") + " " + evaluated("cells[1].c"); got != "30 40 60" {
			t.Errorf("at the data breakpoint: %s", got)
		}
		c.disconnect()
	}
}
