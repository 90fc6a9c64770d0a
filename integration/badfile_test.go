package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
)

// TestBadFiles: truncated, corrupt and foreign files for decode and encode. What
// can be read is written, the damage is one line with its offset.
func TestBadFiles(t *testing.T) {
	v := variantNamed(t, "static-O1-g-fp")
	p := build(t, v)
	dir := t.TempDir()
	file := filepath.Join(dir, "good.cbf")
	launch(t, p, "plain", "int3", "--format", "cbf", "-o", file).want(t, done)
	swift := filepath.Join(dir, "good.json")
	launch(t, p, "plain", "int3", "--format", "swift", "-o", swift).want(t, done)
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	backtrace, images, envelope := read(file), read(filepath.Join(dir, "good.cif")), read(swift)
	for _, c := range []struct {
		name    string
		data    []byte
		partial bool // something can be read
		words   []string
	}{
		{"truncated.cbf", backtrace[:len(backtrace)-3], true, []string{"offset"}},
		{"truncated.cif", images[:len(images)-3], true, []string{"offset"}},
		{"truncated.json", envelope[:len(envelope)/2], false, []string{"offset"}},
		{"version.cbf", append([]byte{backtrace[0] | 0xf0}, backtrace[1:]...), false, []string{"offset 0"}},
		{"zeros", make([]byte, 1000), true, []string{"offset 3"}}, // begins as an image map without images
		{"foreign.elf", read(p.Path)[:4096], false, nil},
		{"foreign.txt", []byte("not a backtrace at all\n"), false, nil},
		{"empty", nil, false, []string{"empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(dir, "bad", c.name)
			write(t, name, c.data)
			for _, format := range []string{"text", "json"} {
				o := clew(t, "decode", "--format", format, name).want(t, failed)
				o.complains(t, append(c.words, name)...)
				if c.partial == (o.stdout == "") {
					t.Errorf("what can be read must come, nothing else: %v", o)
				}
			}
			out := filepath.Join(dir, "out", "out.cbf")
			write(t, filepath.Join(dir, "out", "keep"), nil)
			clew(t, "encode", "--to", "cbf", "-o", out, name).oneLine(t, failed, name)
			absent(t, out)
		})
	}
	for _, command := range [][]string{{"decode"}, {"encode", "--to", "cbf"}, {"unwind"}} {
		for _, name := range []string{filepath.Join(dir, "missing"), dir} {
			clew(t, append(command, name)...).want(t, failed).complains(t, name)
		}
	}
}

// TestBadSnapshots: each line of a file has its answer, and for a bad one it is
// an error, on stderr too with file and line; the others are unwound.
func TestBadSnapshots(t *testing.T) {
	v := variantNamed(t, "static-O1-g-fp")
	file := filepath.Join(t.TempDir(), "good.json")
	stop := launch(t, build(t, v), "plain", "int3", "--format", "snapshot", "-o", file)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(map[string]any)) []byte {
		var s map[string]any
		if err := json.Unmarshal(good, &s); err != nil {
			t.Fatal(err)
		}
		f(s)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return append(text, '\n')
	}
	window := func(address, data string) any { return map[string]any{"address": address, "data": data} }
	cases := []struct {
		name  string
		line  []byte
		words string
	}{
		{"truncated", append(bytes.Clone(good[:len(good)/2]), '\n'), ""},
		{"not JSON", []byte("hello\n"), ""},
		{"version", change(func(s map[string]any) { s["version"] = 2 }), "version"},
		{"architecture", change(func(s map[string]any) { s["arch"] = "pdp11" }), "arch"},
		{"no threads", change(func(s map[string]any) { delete(s, "threads") }), "threads"},
		{"register", change(func(s map[string]any) {
			s["threads"].([]any)[0].(map[string]any)["registers"] = map[string]any{"x30": "0x1"}
		}), "x30"},
		{"address", change(func(s map[string]any) { s["memory"] = []any{window("1234", "AAAA")} }), "memory"},
		{"base64", change(func(s map[string]any) { s["memory"] = []any{window("0x1000", "?")} }), "memory"},
		{"memory contradicts itself", change(func(s map[string]any) {
			s["memory"] = []any{window("0x1000", "AAAAAAAA"), window("0x1002", "AQEB")}
		}), "memory"},
		{"memory beyond the end", change(func(s map[string]any) {
			s["memory"] = []any{window("0xfffffffffffffffe", "AAAAAAAA")}
		}), "memory"},
		{"mapping upside down", change(func(s map[string]any) {
			s["maps"] = []any{map[string]any{"start": "0x2000", "end": "0x1000", "perm": "r-xp"}}
		}), "maps"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "bad.json")
			write(t, name, append(bytes.Clone(c.line), good...))
			o := clew(t, "unwind", name).want(t, failed)
			o.complains(t, name, c.words)
			lines := strings.SplitAfter(o.stdout, "\n")
			if len(lines) != 3 || lines[2] != "" {
				t.Fatalf("want one line for each snapshot: %v", o)
			}
			if a := parseAnswer(t, []byte(lines[0])); a.Error == "" || a.Stacks != nil {
				t.Errorf("the bad one's answer is %s", clip(lines[0]))
			}
			second := stop
			second.outcome = outcome{args: o.args, stdout: lines[1]}
			second.check(t, v, plainGroups)
		})
	}

	// Lies that no reader can see: the answer is a stack without wrong frames.
	truth := func(t *testing.T, line []byte, notes string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "lie.json")
		write(t, name, line)
		for _, s := range clew(t, "unwind", name).stacks(t) {
			var bad program.Findings
			bad.CheckHonest(&s, program.Expect(readRecord(t, stop.stem, s.Thread), plainGroups))
			report(t, bad, "")
			if all := strings.Join(s.Notes, "\n"); !strings.Contains(all, notes) {
				t.Errorf("the notes do not say %q: %s", notes, all)
			}
		}
	}
	honest := func(f func(map[string]any)) []byte {
		return change(func(s map[string]any) { delete(s, "expect"); f(s) })
	}
	t.Run("without memory", func(t *testing.T) {
		truth(t, honest(func(s map[string]any) { s["memory"] = []any{} }), "")
	})
	t.Run("without its program", func(t *testing.T) {
		truth(t, honest(func(s map[string]any) {
			s["images"].([]any)[0].(map[string]any)["path"] = "/nonexistent/native"
		}), "/nonexistent/native")
	})
	t.Run("another build", func(t *testing.T) {
		truth(t, honest(func(s map[string]any) {
			s["images"].([]any)[0].(map[string]any)["buildID"] = "00112233"
		}), "another build")
	})
	t.Run("nothing executable", func(t *testing.T) {
		truth(t, honest(func(s map[string]any) {
			for _, m := range s["maps"].([]any) {
				m.(map[string]any)["perm"] = "rw-p"
			}
		}), "")
	})
}
