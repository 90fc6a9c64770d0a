package lifeline

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/clewdbg/clew/internal/printable"
)

// Delve reads files in goroutines of its own, where nothing recovers: one that it does not survive ends the debugger with Go's trace. The
// guard is who is left to say what that means: Go's runtime writes the trace into the guard's input too (debug.SetCrashOutput).

// lastWords says why a session has ended, on standard error and to the session's client.
type lastWords struct {
	client *os.File // may be nil
	reads  string   // the file that Delve has begun to read last
	crash  string   // the first line of a crash, "" before
	delves bool     // it has happened where Delve reads files
	text   string   // what the client is told
}

// hear takes what Go's runtime writes of a crash: nothing else comes behind it.
func (l *lastWords) hear(line string) bool {
	if l.crash == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		l.crash = line
	}
	for _, reader := range []string{"(*BinaryInfo).", "loadBinaryInfo"} {
		l.delves = l.delves || l.crash != "" && strings.HasPrefix(line, "github.com/go-delve/delve/pkg/proc."+reader)
	}
	return l.crash != ""
}

// say says what a crash means, unless Go's trace says what there is to say, and tells the client.
func (l *lastWords) say(to io.Writer) {
	if l.delves {
		l.text = fmt.Sprintf("clew: Delve could not read %s, or its debug file (%.200s), so this session has ended. A copy without debugging information (objcopy -g) may be debugged",
			printable.Line(l.reads), printable.Line(l.crash))
		fmt.Fprintln(to, l.text)
	}
	if l.text != "" {
		l.tell(l.text)
	}
}

// tell tells the client, in its protocol; a nil one takes nothing.
func (l *lastWords) tell(text string) {
	for _, event := range []map[string]any{
		{"seq": 0, "type": "event", "event": "output", "body": map[string]any{"category": "important", "output": text + "\n"}},
		{"seq": 0, "type": "event", "event": "terminated"},
	} {
		if content, err := json.Marshal(event); err == nil {
			_, _ = fmt.Fprintf(l.client, "Content-Length: %d\r\n\r\n%s", len(content), content)
		}
	}
}

// fileOf is the executable of a process.
func fileOf(pid string) string {
	path, err := os.Readlink("/proc/" + pid + "/exe")
	if err != nil {
		return "the executable of process " + pid
	}
	return path
}
