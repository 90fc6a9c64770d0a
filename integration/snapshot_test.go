package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// TestSnapshot takes a stop as a snapshot, unwinds it without the program, and
// compares the stack both with the live one and with the truth.
func TestSnapshot(t *testing.T) {
	for _, name := range []string{"static-O1-g-fp", "linked-O2-fp-stripped", "opened-O1-g-fp", "linked-O2-omit"} {
		v := variantNamed(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			for _, s := range program.Scenarios {
				t.Run(s.Name+"-"+s.Stop, func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "stop.json")
					live := launch(t, p, s.Name, s.Stop, "--format", "snapshot", "-o", file)
					offline := unwindSame(t, file)
					if live.code != offline.code {
						t.Errorf("live the exit code is %d, offline %d", live.code, offline.code)
					}
					live.outcome = offline
					live.check(t, v, s.Groups)
				})
			}
		})
	}
}

// unwindSame unwinds a snapshot, and demands the stack that was found live, field
// by field.
func unwindSame(t testing.TB, file string, flags ...string) outcome {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.CheckOutput(schema.Snapshot, text); err != nil {
		t.Errorf("the snapshot is not as the schema says: %v", err)
	}
	var snapshot struct {
		Expect map[string]any `json:"expect"`
	}
	var answer map[string]any
	o := clew(t, append(append([]string{"unwind"}, flags...), file)...)
	if err := json.Unmarshal(text, &snapshot); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil {
		t.Fatalf("%v: %v", err, o)
	}
	if o.stderr != "" {
		t.Errorf("clew unwind complains: %s", clip(o.stderr))
	}
	if snapshot.Expect["stacks"] == nil || !reflect.DeepEqual(snapshot.Expect, answer) {
		live, _ := json.Marshal(snapshot.Expect)
		t.Errorf("live and offline differ:\n%s\n%s", clip(string(live)), clip(o.stdout))
	}
	return o
}

// TestSnapshotOfAll takes every goroutine and every thread of a running program,
// parked and running, in Go and in C.
func TestSnapshotOfAll(t *testing.T) {
	v := variantNamed(t, "linked-O1-g-fp")
	k := park(t, build(t, v), "syscall")
	for _, which := range []string{"--goroutine", "--thread"} {
		file := filepath.Join(t.TempDir(), "all.json")
		clew(t, k.args(which, "all", "--format", "snapshot", "-o", file)...)
		offline := unwindSame(t, file).stacks(t)
		live := clew(t, k.args(which, "all", "--format", "json")...).stacks(t)
		if len(offline) < 3 || len(live) != len(offline) {
			t.Errorf("%s: %d stacks live, %d offline", which, len(live), len(offline))
		}
		// The same program, stopped again: who was in C or parked has not moved. A
		// snapshot has the stacks' memory, and not what the runtime notes of goroutines.
		for i := range offline {
			withoutDelve(&offline[i])
		}
		for i := range live {
			live[i].State, live[i].ThreadName = nil, ""
			withoutDelve(&live[i])
			for j := range offline {
				if live[i].Goroutine == offline[j].Goroutine && live[i].Thread == offline[j].Thread && !reflect.DeepEqual(live[i], offline[j]) {
					t.Errorf("%s: live %s offline %s", which, show(&live[i]), show(&offline[j]))
				}
			}
		}
		report(t, k.check(t, v, offline, "syscall", map[string]int{"--goroutine": 1, "--thread": 2}[which]), "")
	}
}

// withoutDelve drops what is said of Delve's frames: a running process is listed
// without Delve, and a snapshot is taken with it.
func withoutDelve(s *stackjson.Stack) {
	for i := range s.Frames {
		f := &s.Frames[i]
		f.DelveFrame = nil
		if f.Function == "runtime.mstart" {
			f.Line = 0 // Delve has the one behind the call
		}
		f.Rejected = slices.DeleteFunc(f.Rejected, func(r stackjson.Rejected) bool { return r.Strategy == unwind.StrategyDelve })
		if len(f.Rejected) == 0 {
			f.Rejected = nil
		}
	}
}

// TestSnapshotElsewhere unwinds where the images are not at their paths: below
// --root, beside the snapshot, and nowhere.
func TestSnapshotElsewhere(t *testing.T) {
	v := variantNamed(t, "static-O1-g-fp")
	p := build(t, v)
	dir := t.TempDir()
	file := filepath.Join(dir, "stop.json")
	live := launch(t, p, "plain", "int3", "--format", "snapshot", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}

	rename(t, file, text, p.Path, "/gone/native")
	clew(t, "unwind", file).want(t, failed) // without the program the stack is another one
	root := filepath.Join(dir, "root")
	write(t, filepath.Join(root, "gone", "native"), content)
	live.outcome = clew(t, "unwind", "--root", root, file)
	live.check(t, v, plainGroups)

	rename(t, file, text, p.Path, "native")
	write(t, filepath.Join(dir, "native"), content)
	live.outcome = clew(t, "unwind", file)
	live.check(t, v, plainGroups)

	// Another build of the program must not be taken for it.
	other, err := os.ReadFile(build(t, variantNamed(t, "static-O2-fp")).Path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "native"), other)
	for _, s := range clew(t, "unwind", file).want(t, failed).stacks(t) {
		if !strings.Contains(strings.Join(s.Notes, "\n"), "is another build") {
			t.Errorf("no note on the program's being another build: %s", show(&s))
		}
		var bad program.Findings
		bad.Compare(&s, program.Expect(readRecord(t, live.stem, s.Thread), plainGroups))
		report(t, bad, "")
	}
}

// rename writes the snapshot with another path for an image, also in what it
// expects.
func rename(t testing.TB, file string, text []byte, from, to string) {
	t.Helper()
	for _, field := range []string{`"path":"`, `"image":"`} {
		text = bytes.ReplaceAll(text, []byte(field+from+`"`), []byte(field+to+`"`))
	}
	write(t, file, text)
}

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
