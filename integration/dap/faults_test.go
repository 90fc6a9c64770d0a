package dap

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/dapwire"
)

// TestFaults: exceptionInfo says which signal has ended the program in C, what was tried at which address (the one that the program has
// printed), and what lies there.
func TestFaults(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	testneed.CC(t)
	source, err := filepath.Abs(filepath.Join("testdata", "faults"))
	if err != nil {
		t.Fatal(err)
	}
	if err := buildGo(source, "faults", "-gcflags=all=-N -l", "."); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"read-null":       "SIGSEGV: a read at ADDR: unmapped",
		"write-null":      "SIGSEGV: a write at ADDR: unmapped",
		"jump-null":       "SIGSEGV: a jump at ADDR: unmapped",
		"write-read-only": "SIGSEGV: a write at ADDR: memory without a file, readable ",
		"read-no-access":  "SIGSEGV: a read at ADDR: memory without a file, no access ",
		"jump-data":       "SIGSEGV: a jump at ADDR: memory without a file, readable and writable ",
		"unmapped":        "SIGSEGV: a read at ADDR: unmapped",
		"not-canonical":   "SIGSEGV: the processor has refused an access, and does not say where",
		"divide":          "SIGFPE: an integer was divided by zero",
		"illegal":         "SIGILL: illegal instruction at ",
		"abort":           "SIGABRT: sent by the program itself",
		"beyond-file":     "SIGBUS: a read at ADDR, beyond the end of the file: ",
		"thread-stack":    "bytes below the stack of thread ",
		// The thread's stack begins, as pthread has it, above the guard page.
		"other-thread-stack": ": guard page below the stack of thread ",
	}
	if runtime.GOARCH == "arm64" { // the processor leaves the uppermost byte out, and 0 is the quotient; breakpoint instructions do not end a program
		cases["not-canonical"] = "SIGSEGV: a read at 0x0: unmapped"
		delete(cases, "divide")
		delete(cases, "illegal")
	}
	for how, want := range cases {
		t.Run(how, func(t *testing.T) {
			c := start(t, binary("clew")).dial()
			thread := threadOf(t, c.launch(object{"mode": "exec", "program": binary("faults"), "args": []string{how}, "outputMode": "remote"}))
			info := c.ok("exceptionInfo", object{"threadId": thread})
			text := fmt.Sprintf("%v: %v", info["exceptionId"], info["description"])
			address := ""
			for _, m := range c.all {
				if found := regexp.MustCompile(`"output":"(0x[0-9a-f]+|\(nil\))\\n"`).FindSubmatch(m.Bytes()); m.Type == dapwire.TypeEvent && found != nil {
					address = strings.Replace(string(found[1]), "(nil)", "0x0", 1)
				}
			}
			if want = strings.ReplaceAll(want, "ADDR", address); !strings.Contains(text, want) || strings.Contains(want, " at :") {
				t.Errorf("got  %s\nwant %s", text, want)
			}
			if !strings.Contains(text, "fault") && !strings.Contains(text, "overflow") && how != "abort" {
				t.Errorf("no function: %s", text)
			}
			c.disconnect()
		})
	}
}
