package internals

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/linutil"
	"github.com/google/go-dap"

	"github.com/clewdbg/clew/unwind"
)

// Names of the entries about what Delve writes.
const (
	EntryDAPFrames    = "dap-frames"
	EntryDAPResponse  = "dap-response"
	EntryRegisterName = "register-names"
)

var wireEntries = []Entry{
	{
		Name: EntryDAPFrames, Where: "service/dap/server.go, onStackTraceRequest; go-dap, StackFrame and StackTraceResponseBody",
		Breaks: "editors get Delve's own stacks: its frames cannot be told apart in its answers",
		Proof:  "Check: the bytes of an answer; that Delve fills them so, TestDelveWritesFrames", check: checkFrames,
	},
	{
		Name: EntryDAPResponse, Where: "go-dap, Response and ProtocolMessage",
		Breaks: "an answer of Delve's that is too long for the client is dropped, and the client waits for ever",
		Proof:  "Check", check: checkResponse,
	},
	{
		Name: EntryRegisterName, Where: "pkg/proc/linutil, AMD64Registers.Slice and ARM64Registers.Slice",
		Breaks: "registers that callers expect to be kept are missing: stacks through C end early",
		Proof:  "Check", check: checkRegisterNames,
	},
}

// The bytes by which frames are found in a stackTrace body as Delve writes it.
// Quotation marks within a string are escaped, so that these bytes are fields
// wherever they stand.
const (
	// FrameStart begins every frame.
	FrameStart = `{"id":`
	// FramePC stands before the hexadecimal digits of a frame's program counter.
	FramePC = `"instructionPointerReference":"0x`
	// TotalFrames stands behind the list of frames.
	TotalFrames = `,"totalFrames":`
)

func checkFrames() error {
	body, err := json.Marshal(dap.StackTraceResponseBody{
		StackFrames: []dap.StackFrame{
			{Id: 1000, Name: "main.f", Source: &dap.Source{Name: "f.go", Path: "/f.go"}, Line: 7, InstructionPointerReference: "0x401000"},
			{Id: 1001, Name: "main.main", InstructionPointerReference: "0x401100"},
		},
		TotalFrames: 2,
	})
	if err != nil {
		return err
	}
	text := string(body)
	for _, c := range []struct {
		what string
		n    int
	}{{FrameStart, 2}, {FramePC + `401000"`, 1}, {FramePC + `401100"`, 1}, {"]" + TotalFrames + "2}", 1}} {
		if strings.Count(text, c.what) != c.n {
			return fmt.Errorf("%q is not %d times in %s", c.what, c.n, text)
		}
	}
	return nil
}

// ResponseHead matches the beginning of an answer of Delve's: its fields in the
// order in which they are written. Its groups are request_seq and command.
var ResponseHead = regexp.MustCompile(`^\{"seq":\d+,"type":"response","request_seq":(\d+),"success":(?:true|false),"command":"([^"\\]*)"`)

func checkResponse() error {
	answer := dap.Response{ProtocolMessage: dap.ProtocolMessage{Seq: 3, Type: "response"}, RequestSeq: 4, Success: true, Command: "variables"}
	text, err := json.Marshal(dap.VariablesResponse{Response: answer})
	if err != nil {
		return err
	}
	if found := ResponseHead.FindSubmatch(text); found == nil || string(found[1]) != "4" || string(found[2]) != "variables" {
		return fmt.Errorf("an answer begins with %.80s", text)
	}
	return nil
}

// checkRegisterNames proves that every register that code of C's keeps for its
// caller is known by the name that Delve has for it.
func checkRegisterNames() error {
	for _, c := range []struct {
		arch  unwind.Arch
		regs  proc.Registers
		wants []string
	}{
		{unwind.AMD64, linutil.NewAMD64Registers(&linutil.AMD64PtraceRegs{}, nil), []string{"rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15"}},
		{unwind.ARM64, linutil.NewARM64Registers(&linutil.ARM64PtraceRegs{}, false, 0, nil), []string{"pc", "sp", "x19", "x28", "x29", "x30"}},
	} {
		list, err := c.regs.Slice(false)
		if err != nil {
			return err
		}
		have := map[unwind.Register]bool{}
		for _, r := range list {
			if reg, ok := RegisterOf(c.arch, r.Name, r.Reg); ok {
				have[reg] = true
			}
		}
		for _, name := range c.wants {
			if reg, ok := c.arch.ParseRegister(name); !ok || !have[reg] {
				return fmt.Errorf("%s: none of %d registers is %s", c.arch, len(list), name)
			}
		}
	}
	return nil
}

// RegisterOf returns the register that Delve calls by a name.
func RegisterOf(a unwind.Arch, name string, value *op.DwarfRegister) (unwind.Register, bool) {
	if value == nil {
		return 0, false
	}
	return a.ParseRegister(strings.ToLower(name))
}
