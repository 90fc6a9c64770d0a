package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// A library that is loaded at run time, and a program that uses its variable in two threads.
const (
	threadLibrary = `__thread int own = 7; __thread char large[100000];
int touch(int n) { return own += n; }
void stop(void) { __asm__ volatile("int3" ::: "memory"); }
void hold(int n) { int x = n; stop(); if (x > 100) touch(1); }
`
	threadProgram = `#include <dlfcn.h>
#include <pthread.h>
static int (*touch)(int); static void (*hold)(int);
static void *other(void *p) { hold(1); touch(30); hold(2); return p; }
int main(int argc, char **argv) {
	void *library = dlopen(LIBRARY, RTLD_NOW);
	touch = dlsym(library, "touch"), hold = dlsym(library, "hold");
	touch(1), hold(0);
	pthread_t thread;
	pthread_create(&thread, 0, other, 0);
	return pthread_join(thread, 0);
}
`
)

// TestThreadLocals: a library's variable of each thread is that of the frame's thread; one that has not used it has none yet.
func TestThreadLocals(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	build := func(name, text string, args ...string) string {
		source, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command(testneed.CC(t), append([]string{"-g", "-O0", source, "-o", out}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return out
	}
	library := build("library.so", threadLibrary, "-shared", "-fPIC")
	exe := build("program", threadProgram, `-DLIBRARY="`+library+`"`, "-ldl", "-lpthread")
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	for _, want := range []string{"8", "has not used it yet", "37"} {
		thread := threadOf(t, c.event("stopped"))
		frame := c.stack(thread, 0, 50).StackFrames[1]
		m := c.request("evaluate", object{"expression": "own", "frameId": frame.ID, "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil || !strings.Contains(body.Result, want) {
			t.Errorf("%s in %s, want %s", m.Bytes(), frame.Name, want)
		}
		c.ok("continue", object{"threadId": thread})
	}
	c.disconnect()
}
