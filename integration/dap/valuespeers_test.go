package dap

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// otherDebuggers are those that are asked the same.
type otherDebuggers struct{ gdb, lldb string }

// notAsked is the answer of a debugger that is not there.
const notAsked = "not asked"

// gdbValues asks GDB for each leaf, in the innermost frame with its function's name.
func gdbValues(t *testing.T, gdb, exe string, truth [][]string) []string {
	var script bytes.Buffer
	script.WriteString("set debuginfod enabled off\nset pagination off\nset confirm off\nset width 0\nset print elements 0\nrun\npython\nimport re\nframes = {}\n" +
		"f = gdb.newest_frame()\nwhile f is not None:\n  m = re.search(r'\\bf\\d+\\b', f.name() or '')\n  if m: frames.setdefault(m.group(0), f)\n  f = f.older()\n" +
		"def ask(i, name, path):\n  try:\n    frames[name].select()\n    print('value', i, gdb.execute('output ' + path, to_string=True))\n  except (gdb.error, KeyError) as e:\n    print('value', i, '<' + str(e))\n")
	for i, leaf := range truth {
		fmt.Fprintf(&script, "ask(%d, '%s', '%s')\n", i, leaf[1], strings.ReplaceAll(leaf[2], ".Some.", "."))
	}
	script.WriteString("end\n")
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, script.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	text, _ := exec.Command(gdb, "-nx", "-batch", "-x", path, exe).CombinedOutput()
	out := make([]string, len(truth))
	for _, m := range regexp.MustCompile(`(?m)^value (\d+) (.*)$`).FindAllStringSubmatch(string(text), -1) {
		var i int
		if _, err := fmt.Sscan(m[1], &i); err == nil && i < len(out) {
			out[i] = m[2]
		}
	}
	return out
}

var (
	lldbFrame = regexp.MustCompile(`(?m)^ +\*? *frame #(\d+): (?:.*\[inlined\] |.*?` + "`" + `(?:::)?)(f\d+)\(`)
	lldbValue = regexp.MustCompile(`(?s)^\(.*?\) [^=]+ = (.*)$`)
)

// lldbValues asks LLDB for each leaf, as it shows variables: expressions that it would compile are not asked.
func lldbValues(t *testing.T, lldb, exe string, truth [][]string) []string {
	out := make([]string, len(truth))
	if lldb == "" {
		for i := range out {
			out[i] = notAsked
		}
		return out
	}
	run := func(commands []string) string {
		ctx, cancel := context.WithTimeout(t.Context(), testneed.Patience(time.Minute))
		defer cancel()
		dir := t.TempDir()
		first, script := filepath.Join(dir, "first"), filepath.Join(dir, "script")
		for path, text := range map[string]string{
			first: "settings set interpreter.stop-command-source-on-error false\n", script: "run\n" + strings.Join(commands, "\n") + "\nkill\nquit\n",
		} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, _ := exec.CommandContext(ctx, lldb, "--no-lldbinit", "--no-use-colors", "-S", first, "-s", script, exe).CombinedOutput() // batches end at an error
		return string(text)
	}
	frames := make(map[string]string)
	for _, m := range lldbFrame.FindAllStringSubmatch(run([]string{"bt"}), -1) {
		if frames[m[2]] == "" {
			frames[m[2]] = m[1]
		}
	}
	var commands []string
	for _, leaf := range truth {
		frame := frames[leaf[1]]
		if frame == "" {
			frame = "999"
		}
		commands = append(commands, "frame select "+frame, "frame variable "+lldbPath(leaf[2]))
	}
	answers := strings.Split(run(commands), "(lldb) frame variable ")
	for i := range truth {
		if i+1 >= len(answers) {
			out[i] = "<no answer"
			continue
		}
		_, answer, _ := strings.Cut(answers[i+1], "\n")
		answer, _, _ = strings.Cut(answer, "(lldb) ")
		m := lldbValue.FindStringSubmatch(strings.TrimSpace(answer))
		if m == nil || frames[truth[i][1]] == "" {
			out[i] = "<" + strings.TrimSpace(answer)
			continue
		}
		out[i] = characterOf(m[1])
	}
	return out
}

// lldbPath is a path as LLDB's "frame variable" takes it.
func lldbPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "(*a2)."); ok {
		return "a2->" + rest
	}
	return path
}

// escapes are LLDB's in characters that C has a letter for.
var escapes = map[byte]byte{'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 27, '0': 0, '\\': '\\', '\'': '\'', '"': '"'}

// characterOf is the number of a character, as which LLDB shows what has one byte; other values stay as they are.
func characterOf(text string) string {
	if len(text) < 3 || text[0] != '\'' || text[len(text)-1] != '\'' {
		return text
	}
	in := text[1 : len(text)-1]
	var n int8
	switch {
	case len(in) == 1:
		n = int8(in[0])
	case strings.HasPrefix(in, `\x`):
		var v uint8
		if _, err := fmt.Sscanf(in[2:], "%x", &v); err != nil {
			return text
		}
		n = int8(v)
	case len(in) == 2 && in[0] == '\\':
		n = int8(escapes[in[1]])
	default:
		return text
	}
	return fmt.Sprintf("byte %d", n)
}
