package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clewdbg/clew/server/dapwire"
)

// What differs from one run to the next, in text.
var volatile = []struct {
	is   *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`0x[0-9a-fA-F]+`), "ADDRESS"},
	{regexp.MustCompile(`\(Thread \d+\)`), "(Thread N)"},
	{regexp.MustCompile(`\[Go \d+`), "[Go N"},
	{regexp.MustCompile(`(?i)(process|pid) \d+`), "$1 N"},
	{regexp.MustCompile(`\t\d+\t`), "\tN\t"}, // a process in the list of targets
	{regexp.MustCompile(`__debug_bin\d+`), "__debug_binN"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST:PORT"},
	{regexp.MustCompile(`\d+(\.\d+)?(ms|µs|s)\b`), "TIME"},
}

// MaskText replaces it.
func MaskText(s string) string {
	for _, v := range volatile {
		s = v.is.ReplaceAllString(s, v.mask)
	}
	return s
}

// masked returns a message without what differs from run to run: numbers of
// messages, processes, handles, addresses. Which fields are there stays.
func masked(m *dapwire.Message) object {
	var o object
	_ = json.Unmarshal(m.Bytes(), &o) // it was parsed when it came
	delete(o, "seq")
	if b, ok := o["body"].(object); ok {
		switch m.Command {
		case "threads":
			b["threads"] = programThreads(b["threads"])
		case "setExceptionBreakpoints":
			byText(b["breakpoints"]) // Delve takes them out of a map
		}
	}
	return mask(o).(object)
}

// byText sorts a list whose order means nothing.
func byText(list any) {
	elements, _ := list.([]any)
	slices.SortFunc(elements, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// programThreads keeps the goroutines that run code of the program's: the runtime's come
// and go, with changing IDs.
func programThreads(threads any) []any {
	list, _ := threads.([]any)
	var out []any
	for _, th := range list {
		if name, _ := th.(object)["name"].(string); strings.Contains(name, "main.") || strings.Contains(name, "Dummy") || strings.Contains(name, "Current") {
			out = append(out, th)
		}
	}
	return out
}

func mask(v any) any {
	switch v := v.(type) {
	case string:
		return MaskText(v)
	case []any:
		for i := range v {
			v[i] = mask(v[i])
		}
	case object:
		if name, _ := v["name"].(string); strings.HasPrefix(name, "~r") && v["value"] != nil {
			v["value"] = "RESULT" // is not set before the function returns: an old word of the stack
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch n, isNumber := v[name].(float64); {
			case isNumber && n != 0 && (name == "variablesReference" || name == "systemProcessId"):
				v[name] = "NUMBER"
			case isNumber && n > 1 && (name == "threadId" || name == "id" && isThread(v)): // goroutines
				v[name] = "NUMBER"
			case isNumber && name == "id" && v["instructionPointerReference"] != nil: // a frame
				v[name] = "NUMBER"
			default:
				v[name] = mask(v[name])
			}
		}
	}
	return v
}

func isThread(o object) bool {
	name, _ := o["name"].(string)
	return strings.Contains(name, "[Go ")
}

// transcript is one side of a comparison.
type transcript struct {
	responses map[float64]string // by the request's number
	events    []string           // but output
	output    map[string]string  // text by category
}

// transcribe takes out what is meant to differ.
func transcribe(all []*dapwire.Message, intended func(*dapwire.Message, object)) transcript {
	tr := transcript{responses: map[float64]string{}, output: map[string]string{}}
	for _, m := range all {
		o := masked(m)
		if m.Event == "output" {
			b, _ := o["body"].(object)
			category, _ := b["category"].(string)
			text, _ := b["output"].(string)
			tr.output[category] += text
			continue
		}
		intended(m, o)
		text, _ := json.Marshal(o) // it was JSON
		if m.Type == dapwire.TypeResponse {
			n, _ := o["request_seq"].(float64)
			tr.responses[n] += string(text) + "\n" // Delve answers some twice
		} else {
			tr.events = append(tr.events, string(text))
		}
	}
	return tr
}

// Compare compares what dlv and clew have sent in two sessions that were played alike, and returns what is not meant to differ.
func Compare(dlvSent, clewSent []*dapwire.Message) (differences []string) {
	tr, clew := transcribe(dlvSent, dlvs), transcribe(clewSent, intended)
	numbers := maps.Clone(tr.responses)
	maps.Copy(numbers, clew.responses)
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		if tr.responses[n] != clew.responses[n] {
			differences = append(differences, fmt.Sprintf("response to request %v:\ndlv  %sclew %s", n, tr.responses[n], clew.responses[n]))
		}
	}
	if !slices.Equal(tr.events, clew.events) {
		differences = append(differences, fmt.Sprintf("events:\ndlv\n  %s\nclew\n  %s", strings.Join(tr.events, "\n  "), strings.Join(clew.events, "\n  ")))
	}
	if !tr.sameOutput(clew) {
		differences = append(differences, fmt.Sprintf("output:\ndlv  %q\nclew %q", tr.output, clew.output))
	}
	return differences
}

// sameOutput reports whether clew has written what dlv has. On a loaded machine dlv ends at
// times before it has read the last of what the program prints: clew may have more of that.
func (tr transcript) sameOutput(clew transcript) bool {
	for category, text := range clew.output {
		known := tr.output[category]
		if text != known && (category != "stdout" && category != "stderr" || !strings.HasPrefix(text, known)) {
			return false
		}
	}
	for category := range tr.output {
		if _, ok := clew.output[category]; !ok {
			return false
		}
	}
	return true
}

func compare(ts *testscript.TestScript, dlv, clew *Session) {
	if differences := Compare(dlv.all, clew.all); len(differences) > 0 {
		ts.Fatalf("%s", strings.Join(differences, "\n"))
	}
}
