package dap

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/unwind"
)

// frame is a row of a stackTrace response.
type frame struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Line   int    `json:"line"`
	Source struct {
		Name, Path string
	} `json:"source"`
	PC   string `json:"instructionPointerReference"`
	Hint string `json:"presentationHint"`
}

type stackBody struct {
	StackFrames []frame `json:"stackFrames"`
	TotalFrames int     `json:"totalFrames"`
}

// firstClewID is where clew's own IDs begin.
const firstClewID = 1 << 30

func (c *client) stack(thread int64, start, levels int) stackBody {
	c.t.Helper()
	var b stackBody
	decode(c.t, c.request("stackTrace", object{"threadId": thread, "startFrame": start, "levels": levels}), &b)
	return b
}

func threadOf(t testing.TB, stopped object) int64 {
	t.Helper()
	id, ok := stopped["threadId"].(float64)
	if !ok {
		t.Fatalf("the stop has no thread: %v", stopped)
	}
	return int64(id)
}

// TestNativeStacks: stackTrace returns the stack that `clew stack` prints,
// and that is the program's record of itself.
func TestNativeStacks(t *testing.T) {
	testneed.Ptrace(t)
	scenarios := map[string][]int{ // by variant, indices into program.Scenarios
		"static-O1-g-fp":                   {0, 2},
		"static-O2-omit":                   {1, 3, 4, 5},
		"opened-O2-fp-stripped":            {0, 4},
		"linked-O2-omit-stripped":          {2, 6},
		"linked-O2-omit-notables-stripped": {0, 4},
		"macho-O2-omit-memory":             {2, 6},
	}
	for name, which := range scenarios {
		v, _ := program.Named(name)
		for _, i := range which {
			sc := program.Scenarios[i]
			t.Run(name+"/"+sc.Name+"-"+sc.Stop, func(t *testing.T) {
				t.Parallel()
				nativeStack(t, v, sc)
			})
		}
	}
}

// TestSFrameStacks: native code with SFrame and nothing else, of every version,
// has the stack that it recorded, on into Go, in every scenario.
func TestSFrameStacks(t *testing.T) {
	testneed.Ptrace(t)
	for _, v := range program.SFrameVariants(program.Tools{}) {
		if v.SFrame == program.OwnSFrame {
			continue // one of those versions
		}
		for _, sc := range program.Scenarios {
			t.Run(v.Name+"/"+sc.Name+"-"+sc.Stop, func(t *testing.T) {
				t.Parallel()
				if stack := nativeStack(t, v, sc); leftBy(&stack, unwind.StrategySFrame) < 2 {
					t.Errorf("sframe had less than 2 frames: %+v", stack)
				}
			})
		}
	}
}

// leftBy counts the frames whose caller a strategy found.
func leftBy(s *stackjson.Stack, strategy string) (n int) {
	for i := range s.Frames {
		if s.Frames[i].Strategy == strategy {
			n++
		}
	}
	return n
}

func nativeStack(t *testing.T, v program.Variant, sc program.Scenario) stackjson.Stack {
	p := native(t, v.Name)
	stem := filepath.Join(t.TempDir(), "record")
	s := start(t, binary("clew"))
	c := s.dial()
	stopped := c.launch(object{
		"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, stem}, "env": p.Variables(),
	})
	stack := c.sameAsRecorded(t, threadOf(t, stopped), v, sc, stem)
	c.disconnect()
	if err := s.wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	return stack
}

// sameAsRecorded compares the stack of a thread with the program's record
// about itself, and asks for all that its frames hold.
func (c *client) sameAsRecorded(t *testing.T, thread int64, v program.Variant, sc program.Scenario, stem string) (stack stackjson.Stack) {
	t.Helper()
	got := c.stack(thread, 0, 100_000)
	answer := c.request("clew/stack", object{"threadId": thread})
	decode(t, answer, &stack)
	if sc.Name != "thread-signal" { // the interrupted code lies on a stack of C's that is not in the list
		framesOnSegments(t, answer, &stack)
	}

	var bad program.Findings
	maps, err := program.ReadMappings(stem + ".maps")
	if err != nil {
		t.Fatal(err)
	}
	bad.CheckForm(&stack, maps)
	record, err := program.ReadRecord(stem, stack.Thread)
	if err != nil {
		t.Fatal(err)
	}
	want := program.Expect(record, sc.Groups)
	if v.Undescribed {
		bad.CheckHonest(&stack, want)
	} else {
		bad.CheckExact(&stack, want)
	}
	for _, b := range bad {
		t.Error(b)
	}
	sameFrames(t, got, &stack)
	if stack.Goroutine == 0 && thread < firstClewID {
		t.Errorf("a thread without a goroutine has the ID %d", thread)
	}
	listed(t, c, thread)
	ids := map[int64]bool{}
	checked := 0
	for _, f := range got.StackFrames {
		if ids[f.ID] {
			t.Errorf("two frames have the ID %d", f.ID)
		}
		ids[f.ID] = true
		if f.ID >= firstClewID && f.Hint != "label" && checked < 3 {
			checked++
			c.checkClewFrame(f)
		}
	}
	c.paging(thread, got)
	return stack
}

// sameFrames compares the rows of a stackTrace, labels apart, with a stack.
func sameFrames(t *testing.T, got stackBody, stack *stackjson.Stack) {
	t.Helper()
	if len(got.StackFrames) != got.TotalFrames {
		t.Errorf("%d rows of %d", len(got.StackFrames), got.TotalFrames)
	}
	var frames []frame
	truncated := false
	for _, f := range got.StackFrames {
		if f.Hint != "label" {
			frames = append(frames, f)
		}
		truncated = f.Hint == "label" && strings.Contains(f.Name, "truncated")
	}
	if truncated != (stack.Stop == stackjson.StopTruncated) {
		t.Errorf("a label says truncated: %v; the stack: %s", truncated, stack.Stop)
	}
	if len(frames) != len(stack.Frames) {
		t.Errorf("%d frames, the stack has %d", len(frames), len(stack.Frames))
		return
	}
	for i, f := range frames {
		w := &stack.Frames[i]
		pc, err := strconv.ParseUint(f.PC, 0, 64)
		if err != nil || pc != uint64(w.PC) {
			t.Errorf("frame %d is at %s, want %v", i, f.PC, w.PC)
		}
		if f.ID >= firstClewID && f.Source.Path != "" && !filepath.IsAbs(f.Source.Path) { // Delve's are as in dlv
			t.Errorf("frame %d has the source %q, which no editor can open", i, f.Source.Path)
		}
		if w.Function != "" && f.Name != w.Function && !strings.HasSuffix(w.Function, "/"+f.Name) {
			t.Errorf("frame %d is %s, want %s", i, f.Name, w.Function)
		}
	}
}

// listed looks for a thread in the list of threads.
func listed(t *testing.T, c *client, id int64) {
	t.Helper()
	for _, th := range c.ok("threads", nil)["threads"].([]any) {
		if int64(th.(object)["id"].(float64)) == id {
			return
		}
	}
	t.Errorf("thread %d is not in the list of threads", id)
}

// checkClewFrame asks for the scopes of a frame that only clew knows.
func (c *client) checkClewFrame(f frame) {
	c.t.Helper()
	names := map[string]map[string]string{}
	for _, s := range c.scopes(f.ID) {
		name, ref := s.Name, s.VariablesReference
		if ref < firstClewID || ref >= 2*firstClewID {
			c.t.Errorf("scope %s of our own has the reference %d", name, ref)
		}
		names[name] = c.variables(ref)
	}
	if got := names["Registers"]["rip"]; got != f.PC {
		c.t.Errorf("%s: register rip is %q, want %s; scopes: %v", f.Name, got, f.PC, names)
	}
	if names["Registers"]["rsp"] == "" || names["Unwind"]["strategy"] == "" || names["Unwind"]["trust"] == "" {
		c.t.Errorf("%s: %v", f.Name, names)
	}
	// A frame whose place was only guessed has no variables.
	m := c.request("evaluate", object{"expression": "1+1", "frameId": f.ID, "context": "watch"})
	refusal := ""
	switch {
	case names["Unwind"]["trust"] == "scan":
		refusal = "found by scanning"
	case c.elsewhere && (strings.HasPrefix(f.Name, "main.") || strings.HasPrefix(f.Name, "runtime.")): // Delve would have to read its variables
		refusal = "runs in another process"
	}
	if refusal != "" && (m.Success || !strings.Contains(string(m.Bytes()), refusal)) || refusal == "" && (!m.Success || body(c.t, m)["result"] != "2") {
		c.t.Errorf("%s: 1+1 is %s", f.Name, m.Bytes())
	}
}

type scope struct {
	Name               string
	VariablesReference int64
}

func (c *client) scopes(frame int64) []scope {
	c.t.Helper()
	var b struct{ Scopes []scope }
	decode(c.t, c.request("scopes", object{"frameId": frame}), &b)
	return b.Scopes
}

func (c *client) variables(ref int64) map[string]string {
	c.t.Helper()
	var b struct {
		Variables []struct{ Name, Value string }
	}
	decode(c.t, c.request("variables", object{"variablesReference": ref}), &b)
	out := map[string]string{}
	for _, v := range b.Variables {
		out[v.Name] = v.Value
	}
	return out
}

// paging asks for the stack in pages, as editors do: they join to the whole.
func (c *client) paging(thread int64, whole stackBody) {
	c.t.Helper()
	page := 1
	for at := 0; at < len(whole.StackFrames); at += page {
		if at > 0 {
			page = max(3, len(whole.StackFrames)/10)
		}
		got := c.stack(thread, at, page)
		if got.TotalFrames != whole.TotalFrames {
			c.t.Errorf("at %d: %d frames in all, want %d", at, got.TotalFrames, whole.TotalFrames)
		}
		for i, f := range got.StackFrames {
			if f != whole.StackFrames[at+i] {
				c.t.Errorf("row %d is %+v in a page, %+v in the whole", at+i, f, whole.StackFrames[at+i])
			}
		}
		if want := min(page, len(whole.StackFrames)-at); len(got.StackFrames) != want {
			c.t.Errorf("%d rows at %d, want %d", len(got.StackFrames), at, want)
		}
	}
	if got := c.stack(thread, len(whole.StackFrames)+5, 3); len(got.StackFrames) != 0 || got.TotalFrames != whole.TotalFrames {
		c.t.Errorf("behind the end: %+v", got)
	}
}

// framesOnSegments: each frame lies on one of the stacks that the answer names.
func framesOnSegments(t *testing.T, answer *dapwire.Message, stack *stackjson.Stack) {
	t.Helper()
	var with struct {
		Segments []struct {
			Kind      string
			Low, High stackjson.Address
		}
	}
	decode(t, answer, &with)
	for i := range stack.Frames {
		f := &stack.Frames[i]
		on := 0
		for _, s := range with.Segments {
			if f.SP != nil && *f.SP >= s.Low && *f.SP <= s.High {
				on++
			}
		}
		if on != 1 {
			t.Errorf("frame %d (%s) with SP %v lies on %d of the segments %v", i, f.Function, f.SP, on, with.Segments)
		}
	}
}
