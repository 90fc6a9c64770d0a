package dap

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/unwind"
)

// exported is the answer to clew/export.
type exported struct {
	Files []struct {
		Name string
		Data []byte
	}
	Stacks, Truncated int
}

// conforms holds the body of an answer against its schema.
func conforms(t testing.TB, m *dapwire.Message, name string) {
	t.Helper()
	raw, _ := m.Get("body")
	if err := schematest.CheckOutput(name, raw); err != nil {
		t.Errorf("%s is not as the schema says: %v", m.Command, err)
	}
}

func (c *client) export(arguments object) exported {
	c.t.Helper()
	m := c.request("clew/export", arguments)
	var out exported
	decode(c.t, m, &out)
	conforms(c.t, m, schema.DAPExport)
	return out
}

// alive takes the signal out of a core file, as of a process that goes on.
func alive(t *testing.T, core string) {
	t.Helper()
	f, err := elf.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		status := []byte("CORE\x00\x00\x00\x00") // the name, behind sizes and type (1: NT_PRSTATUS)
		notes := data[p.Off : p.Off+p.Filesz]
		for at := 0; ; at += len(status) {
			i := bytes.Index(notes[at:], status)
			if i < 0 {
				break
			}
			if at += i; notes[at-4] == 1 {
				clear(notes[at+len(status):][:14]) // si_signo, si_code, si_errno, pr_cursig
			}
		}
	}
	if err := os.WriteFile(core, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExportIsThatOfStack: what clew/export writes of a core file is byte for byte
// what `clew stack` writes of it, in every format, of one stack and of all. What ended a program is no part of it.
func TestExportIsThatOfStack(t *testing.T) {
	p := native(t, "static-O2-omit")
	core, _ := dumped(t, p)
	alive(t, core)
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "core", "program": p.Path, "coreFilePath": core}))
	which := map[string]struct {
		arguments object
		flags     []string
		name      string // of the file
	}{
		"current":    {object{"threadId": thread}, []string{"--goroutine", "current"}, "goroutine-" + itoa(int(thread))},
		"depth":      {object{"threadId": thread, "depth": 3}, []string{"--goroutine", "current", "--depth", "3"}, "goroutine-" + itoa(int(thread))},
		"goroutines": {object{"all": true}, []string{"--goroutine", "all", "--group", "none"}, "goroutines"},
		"threads":    {object{"all": "threads"}, []string{"--thread", "all", "--group", "none"}, "threads"},
	}
	endings := map[string]string{"text": ".txt", "json": ".json", "cbf": ".cbf", "swift": ".swift.json", "pprof": ".pb.gz", "snapshot": ".snapshot.json"}
	for name, w := range which {
		for format, ending := range endings {
			w.arguments["format"] = format
			got := c.export(w.arguments)
			dir := t.TempDir()
			first := filepath.Join(dir, w.name+ending)
			if format == "cbf" && w.arguments["all"] != nil {
				first = filepath.Join(dir, "folder")
				dir = first
			}
			args := append([]string{"stack", "--core", core, "--format", format, "-o", first}, w.flags...)
			out, err := exec.Command(binary("clew"), append(args, p.Path)...).CombinedOutput()
			var exit *exec.ExitError
			truncated := errors.As(err, &exit) && exit.ExitCode() == 3
			if err != nil && !truncated {
				t.Fatalf("clew stack: %v: %s", err, out)
			}
			if truncated != (got.Truncated > 0) || got.Stacks == 0 {
				t.Errorf("%s as %s: %d of %d stacks are truncated, for clew stack: %v", name, format, got.Truncated, got.Stacks, truncated)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != len(got.Files) {
				t.Errorf("%s as %s: %d files, clew stack writes %v, %v", name, format, len(got.Files), entries, err)
			}
			for _, f := range got.Files {
				want, err := os.ReadFile(filepath.Join(dir, f.Name))
				if err != nil || string(want) != string(f.Data) {
					t.Errorf("%s as %s: %s differs, %v\n%.2000q\nclew stack writes\n%.2000q", name, format, f.Name, err, f.Data, want)
				}
			}
		}
	}
	c.disconnect()
}

// TestExportReproduces: a snapshot of a live stop yields, offline, the stacks that
// the session shows.
func TestExportReproduces(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "opened-O2-fp-stripped")
	c := start(t, binary("clew")).dial()
	sc := program.Scenarios[0]
	stem := filepath.Join(t.TempDir(), "record")
	thread := threadOf(t, c.launch(object{
		"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, stem}, "env": object{"NATIVE_LIBRARY": p.Library},
	}))
	shown := c.stack(thread, 0, 1000)
	got := c.export(object{"threadId": thread, "format": "snapshot"})
	file := filepath.Join(t.TempDir(), got.Files[0].Name)
	if err := os.WriteFile(file, got.Files[0].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary("clew"), "unwind", file).Output()
	if err != nil {
		t.Fatalf("clew unwind: %v: %s", err, out)
	}
	var answer stackjson.Answer
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Stacks) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	sameFrames(t, shown, &answer.Stacks[0])

	// A breakpoint of Delve's does not show in it, nor does the export change the stop.
	if again := c.stack(thread, 0, 1000); len(again.StackFrames) != len(shown.StackFrames) || again.StackFrames[0] != shown.StackFrames[0] {
		t.Errorf("after the export the stack is %+v, before it was %+v", again, shown)
	}
	c.disconnect()
}

// TestReunwind compares a stack by one strategy with that of `clew dap` told to
// use that strategy only; the session's own stack stays.
func TestReunwind(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "opened-O2-fp-stripped")
	sc := program.Scenarios[0]
	launch := func(clew object) (*client, int64) {
		c := start(t, binary("clew")).dial()
		stem := filepath.Join(t.TempDir(), "record")
		return c, threadOf(t, c.launch(object{
			"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, stem}, "env": object{"NATIVE_LIBRARY": p.Library}, "clew": clew,
		}))
	}
	c, thread := launch(object{})
	before := c.stack(thread, 0, 1000)
	strategies := func(s *stackjson.Stack) (out []string) {
		for _, f := range s.Frames {
			if !slices.Contains(out, f.Strategy) {
				out = append(out, f.Strategy)
			}
		}
		slices.Sort(out)
		return out
	}
	for _, one := range []string{"fpwalk", "scan"} {
		var got stackjson.Stack
		m := c.request("clew/reunwind", object{"strategies": []string{one}, "threadId": thread})
		decode(t, m, &got)
		// Where the code's own flow proves a frame (R4), no stack is scanned for it.
		clews := []string{unwind.StrategyRegisters, unwind.StrategyGopclntab, unwind.StrategyCode}
		for _, by := range strategies(&got) {
			if by != one && !slices.Contains(clews, by) {
				t.Errorf("by %s: %v", one, strategies(&got))
			}
		}
		other, otherThread := launch(object{"strategies": []string{one}})
		var want stackjson.Stack
		decode(t, other.request("clew/stack", object{"threadId": otherThread}), &want)
		if len(got.Frames) != len(want.Frames) || got.Stop != want.Stop || !slices.Equal(strategies(&got), strategies(&want)) {
			t.Errorf("by %s: %d frames, %s, %v; a session with it has %d, %s, %v", one,
				len(got.Frames), got.Stop, strategies(&got), len(want.Frames), want.Stop, strategies(&want))
		}
		other.disconnect()
		var part stackjson.Stack
		decode(t, c.request("clew/reunwind", object{"strategies": []string{one}, "threadId": thread, "startFrame": 2, "levels": 3}), &part)
		if len(part.Frames) != 3 || part.Frames[0].Index != 2 || part.Frames[0].PC != got.Frames[2].PC {
			t.Errorf("by %s, from frame 2 on: %+v", one, part.Frames)
		}
	}
	if after := c.stack(thread, 0, 1000); !slices.Equal(after.StackFrames, before.StackFrames) {
		t.Errorf("the session's own stack is %+v, was %+v", after, before)
	}
	for _, wrong := range []object{{}, {"strategies": []string{}}, {"strategies": []string{"nosuch"}}, {"strategies": "fpwalk"}, {"strategies": []string{"fpwalk"}, "threadId": 123456}} {
		if m := c.request("clew/reunwind", wrong); m.Success {
			t.Errorf("clew/reunwind %v: %s", wrong, m.Bytes())
		}
	}
	c.disconnect()
}

// imagesAnswer is the answer to clew/images.
type imagesAnswer struct {
	Images []struct {
		Path            string
		BuildID         string
		Base, End       stackjson.Address
		ExecutableBytes uint64
		Unwind          []struct {
			Strategy     string
			Anywhere     bool
			Sections     []string
			CoveredBytes uint64
			Share        float64
			Frames       int
		}
	}
}

// TestImages: the images of the program, what each strategy covers, and how many
// frames it has served.
func TestImages(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "opened-O2-fp-stripped")
	c := start(t, binary("clew")).dial()
	sc := program.Scenarios[0]
	stem := filepath.Join(t.TempDir(), "record")
	thread := threadOf(t, c.launch(object{
		"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, stem}, "env": object{"NATIVE_LIBRARY": p.Library},
	}))
	c.stack(thread, 0, 1000)
	var stack stackjson.Stack
	decode(t, c.request("clew/stack", object{"threadId": thread}), &stack)
	m := c.request("clew/images", nil)
	conforms(t, m, schema.DAPImages)
	var got imagesAnswer
	decode(t, m, &got)

	want := map[string]int{} // frames by image and strategy
	physical := program.Physical(&stack)
	for i := 1; i < len(physical); i++ {
		want[physical[i-1].Image+" "+physical[i].Strategy]++
	}
	served := map[string]int{}
	covers := map[string]float64{}
	anywhere := map[string]int{}
	for _, img := range got.Images {
		for _, u := range img.Unwind {
			if u.Frames > 0 {
				served[img.Path+" "+u.Strategy] += u.Frames
			}
			if u.Share > 1 || u.CoveredBytes > img.ExecutableBytes || (u.CoveredBytes > 0) != (u.Share > 0) {
				t.Errorf("%s: %+v of %d bytes", img.Path, u, img.ExecutableBytes)
			}
			covers[img.Path+" "+u.Strategy] = u.Share
			if u.Anywhere {
				anywhere[u.Strategy]++
			}
		}
		if img.Base >= img.End || img.ExecutableBytes == 0 {
			t.Errorf("%+v", img)
		}
	}
	if len(served) != len(want) {
		t.Errorf("frames %v, want %v", served, want)
	}
	for key, n := range want {
		if served[key] != n {
			t.Errorf("%s: %d frames, want %d", key, served[key], n)
		}
	}
	// Go's tables cover the Go program and not the library, whose .eh_frame does not
	// describe all.
	if covers[p.Path+" gopclntab"] < 0.5 || covers[p.Library+" gopclntab"] != 0 || covers[p.Library+" dwarfcfi"] == 0 || covers[p.Library+" dwarfcfi"] == 1 {
		t.Errorf("%v", covers)
	}
	if len(anywhere) != 2 || anywhere["fpwalk"] != len(got.Images) || anywhere["scan"] != len(got.Images) {
		t.Errorf("anywhere: %v, of %d images", anywhere, len(got.Images))
	}
	c.disconnect()
}

// TestPlugins compares with `clew plugins`.
func TestPlugins(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	c := start(t, binary("clew")).dial()
	c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "3"}, "clew": object{"strategies": []string{"scan", "fpwalk"}}})
	m := c.request("clew/plugins", nil)
	conforms(t, m, schema.Plugins)
	type plugin struct {
		Name, Version, Path, State string
		Rank                       int
		Builtin                    bool
	}
	var got, all struct{ Plugins []plugin }
	decode(t, m, &got)
	out, err := exec.Command(binary("clew"), "plugins", "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.CheckOutput(schema.Plugins, out); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	if len(got.Plugins) != 2 || got.Plugins[0].Name != "scan" || got.Plugins[1].Name != "fpwalk" {
		t.Fatalf("%+v", got)
	}
	for i, g := range got.Plugins {
		k := slices.IndexFunc(all.Plugins, func(a plugin) bool { return a.Name == g.Name })
		want := all.Plugins[k]
		want.Rank = i
		if g != want || g.State != "running" {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
	c.disconnect()
}

// many launches a program with so many goroutines, for a client that wants to
// hear of progress.
func (c *client) many(exe string, goroutines int) {
	c.t.Helper()
	arguments := object{"supportsProgressReporting": true}
	for key, value := range initializeArguments {
		arguments[key] = value
	}
	if c.ok("initialize", arguments)["supportsCancelRequest"] != true {
		c.t.Error("cancel is not offered")
	}
	c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"goroutines", itoa(goroutines)}})
	c.event("initialized")
	c.ok("configurationDone", nil)
	c.event("stopped")
}

// TestExportProgress: an export of many goroutines says how far it is, and can be
// cancelled, by its number and by that of its progress.
func TestExportProgress(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	c := start(t, binary("clew")).dial()
	const goroutines = 20_000
	c.many(exe, goroutines)
	for _, by := range []string{"requestId", "progressId"} {
		seq := c.send("clew/export", object{"all": true, "format": "text"})
		begun := c.event("progressStart")
		if begun["requestId"] != float64(seq) || begun["cancellable"] != true || begun["percentage"] != 0.0 {
			t.Errorf("%v", begun)
		}
		id := map[string]any{"requestId": seq, "progressId": begun["progressId"]}[by]
		c.ok("cancel", object{by: id})
		if end := c.event("progressEnd"); end["progressId"] != begun["progressId"] {
			t.Errorf("%v", end)
		}
		if m := c.response(seq); m.Success || m.Text("message") != "cancelled" {
			t.Errorf("cancelled by %s: %.300s", by, m.Bytes())
		}
	}
	// One whose turn has not come can be cancelled too.
	first := c.send("clew/export", object{"all": true, "format": "json"})
	second := c.send("clew/export", object{"all": true, "format": "json"})
	c.ok("cancel", object{"requestId": second})
	if m := c.response(second); m.Success || m.Text("message") != "cancelled" {
		t.Errorf("the second: %.300s", m.Bytes())
	}
	m := c.response(first)
	var all exported
	decode(t, m, &all)
	var answer stackjson.Answer
	if err := json.Unmarshal(all.Files[0].Data, &answer); err != nil || len(answer.Stacks) <= goroutines || all.Stacks != len(answer.Stacks) {
		t.Errorf("%d stacks, %d are counted, %v", len(answer.Stacks), all.Stacks, err)
	}
	// Delve refuses to cancel its own requests.
	if m := c.request("cancel", object{"requestId": 1}); m.Success {
		t.Errorf("%s", m.Bytes())
	}
	// Who disconnects does not wait for an export.
	c.send("clew/export", object{"all": true, "format": "json"})
	c.event("progressStart")
	c.ok("disconnect", object{"terminateDebuggee": true})
	c.end()
}

// TestLongMessages: answers of any length come; a request that Delve cannot take is
// refused, and the session goes on with its program.
func TestLongMessages(t *testing.T) {
	testneed.Ptrace(t)
	exe, source := plain(t)
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "30000"}}))
	m := c.request("stackTrace", object{"threadId": thread, "levels": 1_000_000})
	var whole stackBody
	decode(t, m, &whole)
	if n := len(m.Bytes()); n <= 4<<20 || len(whole.StackFrames) < 30_001 {
		t.Errorf("%d frames in %d bytes", len(whole.StackFrames), n)
	}
	const most = 4 << 20
	long := strings.Repeat("1+", most/2) + "1"
	var breakpoints []object
	for range most / 20 {
		breakpoints = append(breakpoints, object{"line": 1, "condition": "x"})
	}
	for command, arguments := range map[string]object{
		"evaluate":       {"expression": long, "context": "repl"},
		"setBreakpoints": {"source": object{"path": filepath.Join(source, "main.go")}, "breakpoints": breakpoints},
	} {
		if m := c.request(command, arguments); m.Success || !strings.Contains(string(m.Bytes()), "too long") {
			t.Errorf("%s: %.300s", command, m.Bytes())
		}
	}
	if got := c.ok("evaluate", object{"expression": long[:1<<16+1], "context": "repl"})["result"]; got != "32769" {
		t.Errorf("the session goes on with %v", got)
	}
	c.ok("setBreakpoints", object{"source": object{"path": filepath.Join(source, "main.go")}, "breakpoints": []object{{"line": 40}}})
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	c.disconnect()
}

// TestMaxMessage: the bound is that of the configuration.
func TestMaxMessage(t *testing.T) {
	testneed.Ptrace(t)
	exe, _ := plain(t)
	config := filepath.Join(t.TempDir(), "clew.json")
	if err := os.WriteFile(config, []byte(`{"walkTimeout": "30s", "stackTimeout": "5m", "maxMessage": "64KiB"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, binary("clew"), "--clew-config", config).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "5000"}}))
	if m := c.request("stackTrace", object{"threadId": thread, "levels": 1_000_000}); m.Success || !strings.Contains(string(m.Bytes()), "maxMessage") {
		t.Errorf("%.300s", m.Bytes())
	}
	if m := c.request("clew/export", object{"threadId": thread, "format": "json"}); m.Success || !strings.Contains(string(m.Bytes()), "clew export FILE") {
		t.Errorf("%.300s", m.Bytes())
	}
	if got := c.stack(thread, 0, 20); len(got.StackFrames) != 20 {
		t.Errorf("the session goes on with %+v", got)
	}
	c.send("evaluate", object{"expression": strings.Repeat("1", 64<<10)})
	m := c.until("an error", func(m *dapwire.Message) bool { return m.Type == dapwire.TypeResponse && m.RequestSeq == 0 })
	if m.Success || !strings.Contains(string(m.Bytes()), "above the limit of 65536") {
		t.Errorf("%.300s", m.Bytes())
	}
	c.end() // a client's lengths are not to be trusted
}
