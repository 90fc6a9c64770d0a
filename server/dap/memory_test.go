package dap

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

const supported = `{"supportsReadMemoryRequest":true}`

// TestMemoryReferences: a register that is an address refers to its memory, which can be read; of Delve's
// variables each has the reference that its data breakpoint, its pointer or its register tells.
func TestMemoryReferences(t *testing.T) {
	s := playProgram(t, stoptest.New(10), unwind.TrustCFI)
	rows, _ := s.page(debuggee.FirstID+stoptest.CThread, 0, 10)
	var scopes struct{ Scopes []dap.Scope }
	if m := s.request("scopes", map[string]int64{"frameId": rows[0].ID}); m.Decode("body", &scopes) != nil || len(scopes.Scopes) != 3 {
		t.Fatalf("%s", m.Bytes())
	}
	var body struct{ Variables []dap.Variable }
	registers := s.request("variables", map[string]int{"variablesReference": scopes.Scopes[1].VariablesReference})
	if err := registers.Decode("body", &body); err != nil {
		t.Fatal(err)
	}
	named := func(name string) dap.Variable {
		t.Helper()
		i := slices.IndexFunc(body.Variables, func(v dap.Variable) bool { return v.Name == name })
		if i < 0 {
			t.Fatalf("no %s in %+v", name, body.Variables)
		}
		return body.Variables[i]
	}
	sp := named("rsp").MemoryReference
	if sp == "" || named("rip").MemoryReference != "" {
		t.Errorf("%s", registers.Bytes()) // the code's memory is not played
	}

	s.plays = map[string]string{
		"initialize":         supported,
		"dataBreakpointInfo": fmt.Sprintf(`{"dataId":"1,0,*(*[8]byte)(%s)"}`, sp),
		"variables": `{"variables":[{"name":"n","value":"1"},{"name":"p","value":"*main.T {n: 1}"},{"name":"s","value":"x","memoryReference":"0x77"},` +
			`{"name":"nowhere","evaluateName":"_RBX","value":"0x10"},{"name":"rsp","evaluateName":"_RSP","value":"` + sp + `"},{"name":"rax","evaluateName":"_RAX","value":"0x5"}]}`,
	}
	ask := func() (out []string) {
		t.Helper()
		m := s.request("variables", map[string]int{"variablesReference": 1001})
		body.Variables = nil
		if m.Decode("body", &body) != nil {
			t.Fatalf("%s", m.Bytes())
		}
		for _, v := range body.Variables {
			out = append(out, v.MemoryReference)
		}
		return out
	}
	if got := ask(); !slices.Equal(got, []string{"", "", "0x77", "", "", ""}) {
		t.Errorf("a client that shows no memory gets %q", got)
	}
	s.request("initialize", map[string]bool{"supportsMemoryReferences": true})
	if got := ask(); !slices.Equal(got, []string{sp, sp, "0x77", "", sp, ""}) {
		t.Errorf("got %q", got)
	}
	s.plays["dataBreakpointInfo"] = `{"dataId":null}`
	if got := ask(); got[0] != "" {
		t.Errorf("a variable without an address refers to %s", got[0])
	}
}

// TestReadMemory: what Delve has not referred to is read by clew, as far as there is memory.
func TestReadMemory(t *testing.T) {
	program := stoptest.New(10)
	s := playProgram(t, program, unwind.TrustCFI)
	rows, _ := s.page(debuggee.FirstID+stoptest.CThread, 0, 10)
	m := s.request("clew/stack", map[string]int{"threadId": debuggee.FirstID + stoptest.CThread})
	var stack struct{ Frames []struct{ PC, CFA string } }
	if m.Decode("body", &stack) != nil || len(rows) < 2 {
		t.Fatalf("%s", m.Bytes())
	}
	read := func(args map[string]any) (dap.ReadMemoryResponseBody, string) {
		t.Helper()
		var body dap.ReadMemoryResponseBody
		m := s.request("readMemory", args)
		_ = m.Decode("body", &body)
		return body, string(m.Bytes())
	}
	// The word below the first caller's CFA is the return address.
	got, text := read(map[string]any{"memoryReference": stack.Frames[1].CFA, "offset": -8, "count": 8})
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil || len(data) != 8 || got.UnreadableBytes != 0 || fmt.Sprintf("%#x", binary.LittleEndian.Uint64(data)) != stack.Frames[2].PC {
		t.Errorf("%s, want %s", text, stack.Frames[2].PC)
	}
	if got, text := read(map[string]any{"memoryReference": "0x10", "count": 16}); got.Data != "" || got.UnreadableBytes != 16 {
		t.Error(text)
	}
	if got, text := read(map[string]any{"memoryReference": "0x10", "count": maxRead + 16}); got.UnreadableBytes != maxRead { // the rest was not tried
		t.Error(text)
	}
	if _, text := read(map[string]any{"memoryReference": "nonsense", "count": 16}); !strings.Contains(text, "not played") {
		t.Error(text)
	}
	if _, text := read(map[string]any{"memoryReference": "0x10", "count": -1}); !strings.Contains(text, "not played") {
		t.Error(text)
	}
	s.plays = map[string]string{"readMemory": `{"address":"0x10","data":"QUJD"}`}
	if got, text := read(map[string]any{"memoryReference": "0x10", "count": 16}); got.Data != "QUJD" {
		t.Errorf("Delve's own answer is replaced: %s", text)
	}
}

// TestModules: the protocol's own list of images, by pages, with the unwind information last.
func TestModules(t *testing.T) {
	s := playProgram(t, stoptest.New(10), unwind.TrustCFI)
	m := s.request("modules", map[string]int{})
	var body struct {
		Modules []map[string]any
		Total   int `json:"totalModules"`
	}
	if m.Decode("body", &body) != nil || len(body.Modules) != 1 || body.Total != 1 {
		t.Fatalf("%s", m.Bytes())
	}
	for key, want := range map[string]string{"id": "0x400000", "name": "program", "path": "/bin/program", "addressRange": "0x400000-0x510000"} {
		if body.Modules[0][key] != want {
			t.Errorf("%s is %v, want %s", key, body.Modules[0][key], want)
		}
	}
	if text, _ := body.Modules[0]["unwind"].(string); !strings.Contains(text, stoptest.StrategyName+" ") || !strings.HasSuffix(text, "%") {
		t.Errorf("unwind is %q", text)
	}
	m = s.request("modules", map[string]int{"startModule": 5, "moduleCount": 2})
	if m.Decode("body", &body) != nil || len(body.Modules) != 0 || body.Total != 1 {
		t.Errorf("%s", m.Bytes())
	}
}
