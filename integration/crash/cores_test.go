//go:build linux

package crash

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
)

// parse reads what clew stack has written, which has the form of its schema.
func parse(t testing.TB, text []byte) *report {
	t.Helper()
	if err := schematest.CheckOutput(schema.Stack, text); err != nil {
		t.Fatal(err)
	}
	out := new(report)
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCores: of a core file clew says which thread died, by what, in which function, and what the program has said.
func TestCores(t *testing.T) {
	for _, w := range ways {
		t.Run(w.how, func(t *testing.T) {
			program := dies(t, w.pure)
			core, stderr := dump(t, program, w.how)
			signal := w.signal
			if signal == "" {
				signal = "SIGABRT" // by which the runtime ends the process
			}
			r := ofCore(t, core, program)
			w.check(t, r, stderr, signal)
			text, _, _ := run(t, "", nil, testkit.Path("clew"), "stack", "--core", core, program)
			if !strings.HasPrefix(text, signal) || !strings.Contains(text, "\nthe core file: ") || strings.Contains(text, "=>") != (r.Crash.Frame != nil) {
				t.Errorf("the page is\n%.1500s", text)
			}
		})
	}
}

// TestLaunched: the same of a program that clew runs until it dies.
func TestLaunched(t *testing.T) {
	testneed.Ptrace(t)
	for _, how := range []string{"read", "heap", "panic", "nil", "unlock", "cxx-derived"} {
		t.Run(how, func(t *testing.T) {
			for _, w := range ways {
				if w.how != how {
					continue
				}
				out, errs, state := run(t, "", nil, testkit.Path("clew"), "stack", "--format", "json", "--", dies(t, w.pure), how)
				if state.ExitCode() != 0 {
					t.Fatalf("%v\n%s", state, errs)
				}
				r := parse(t, []byte(out))
				// The program has not printed all yet.
				w.check(t, r, errs+r.Crash.Message, w.signal)
			}
		})
	}
}

// TestTerminal: the terminal on a core file begins with what ended the process, on standard error: standard output is as Delve's.
func TestTerminal(t *testing.T) {
	program := dies(t, false)
	core, _ := dump(t, program, "heap")
	out, errs, state := run(t, "", nil, "sh", "-c", `echo exit | "$0" core "$1" "$2" --allow-non-terminal-interactive=true`, testkit.Path("clew"), program, core)
	if state.ExitCode() != 0 || strings.Contains(out, "SIGABRT") || !strings.Contains(errs, " died: SIGABRT (SI_TKILL): sent by the program itself, in ") || !strings.Contains(errs, "free(): invalid next size (normal)\n") {
		t.Errorf("%v\n%s\n%s", state, out, errs)
	}
}
