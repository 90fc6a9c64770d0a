package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/unwind"
)

// MachineServer plays a Delve server whose program is of some architecture. It has one
// breakpoint, and memory.
type MachineServer struct {
	FakeServer
	registers api.Registers
	least     int // what its disassembler needs, in bytes
	variables map[string]uint64
	memory    unwind.Windows
}

const planted = 0x51e50

// ListRegisters implements a method of Delve's.
func (s *MachineServer) ListRegisters(_ rpc2.ListRegistersIn, out *rpc2.ListRegistersOut) error {
	out.Regs = s.registers
	return nil
}

// ListBreakpoints implements a method of Delve's.
func (*MachineServer) ListBreakpoints(_ rpc2.ListBreakpointsIn, out *rpc2.ListBreakpointsOut) error {
	out.Breakpoints = []*api.Breakpoint{{Addrs: []uint64{planted}}}
	return nil
}

// Disassemble implements a method of Delve's: for arm64 it takes whole instructions only.
func (s *MachineServer) Disassemble(in rpc2.DisassembleIn, out *rpc2.DisassembleOut) error {
	n := int(in.EndPC - in.StartPC)
	if in.StartPC != planted || n%s.least != 0 {
		return fmt.Errorf("slice bounds out of range [:%d] with capacity %d", s.least, n)
	}
	out.Disassemble = api.AsmInstructions{{Bytes: []byte{1, 2, 3, 4}[:n]}}
	return nil
}

// Eval implements a method of Delve's.
func (s *MachineServer) Eval(in rpc2.EvalIn, out *rpc2.EvalOut) error {
	addr, ok := s.variables[in.Expr]
	if !ok {
		return errors.New("could not find symbol value for " + in.Expr)
	}
	out.Variable = &api.Variable{Addr: addr}
	return nil
}

// ExamineMemory implements a method of Delve's.
func (s *MachineServer) ExamineMemory(in rpc2.ExamineMemoryIn, out *rpc2.ExaminedMemoryOut) error {
	out.Mem = make([]byte, in.Length)
	return s.memory.ReadMemory(in.Address, out.Mem)
}

func named(values map[string]uint64) (out api.Registers) {
	for name, v := range values {
		out = append(out, api.Register{Name: name, Value: fmt.Sprintf("%#016x", v)})
	}
	return out
}

// speak begins to speak with a server.
func speak(t *testing.T, s *MachineServer) *Program {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	served := rpc.NewServer()
	if err := served.RegisterName("RPCServer", s); err != nil {
		t.Fatal(err)
	}
	go served.ServeCodec(jsonrpc.NewServerCodec(theirs))
	return &Program{server: server{rpc2.NewClientFromConn(ours)}}
}

var arm64Registers = map[string]uint64{"PC": 0x497854, "SP": 0x40000a1f00, "X28": 0x4000002380}

// TestBreakpointSize: under a breakpoint the program has as many bytes as its architecture's breakpoint
// instruction takes; a program of one that clew does not know through a server is refused.
func TestBreakpointSize(t *testing.T) {
	for _, tc := range []struct {
		regs    map[string]uint64
		least   int
		arch    unwind.Arch
		refusal string
	}{
		{map[string]uint64{"Rip": 0x497854, "Rsp": 0xc0000a1f00}, 1, unwind.AMD64, ""},
		{arm64Registers, 4, unwind.ARM64, ""},
		{map[string]uint64{"Eip": 0x497854, "Esp": 0xc00a1f00}, 1, unwind.I386, "on amd64 and arm64 only"},
	} {
		p := speak(t, &MachineServer{FakeServer: FakeServer{thread: 7}, registers: named(tc.regs), least: tc.least})
		err := p.Begin()
		if tc.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("%v: %v", tc.arch, err)
			}
			continue
		}
		if err != nil || p.Arch() != tc.arch || len(p.seen.planted[planted]) != tc.least {
			t.Errorf("%v: %v, %v, %v", tc.arch, err, p.Arch(), p.seen.planted)
		}
		if err := p.Still(); err != nil {
			t.Errorf("%v: %v", tc.arch, err)
		}
	}
}

// TestR11MaskOfServer: the mask of a program on another machine leaves its addresses alone, also where
// images do not show how large the address space is.
func TestR11MaskOfServer(t *testing.T) {
	const argvAt, page = 0x6a4010, 0x6a4000
	static := []imagemap.Mapping{{Start: 0x400000, End: 0x6b0000}}
	for name, tc := range map[string]struct {
		sp, argv uint64
		maps     []imagemap.Mapping
		want     uint64
	}{
		"the first thread's arguments":   {0x40000a1f00, 0xfffff4d12ab8, static, 0x7f << 48},
		"before the runtime's start":     {0xfffff4d12ab0, 0, static, 0x7f << 48},
		"39 bits":                        {0x40000a1f00, 0x7ff4d12ab8, static, 0x7fff8000000000},
		"52 bits, all below 48":          {0x40000a1f00, 0xfffff4d12ab8, static, 0x7f << 48},
		"52 bits":                        {0xffffff4d12ab8, 0xfffff4d12ab8, static, 0x7 << 52},
		"a library at the upper end":     {0x40000a1f00, 0, []imagemap.Mapping{{Start: 0xffffa7b2c000, End: 0xffffa7b2d000}}, 0x7f << 48},
		"arguments that are overwritten": {0x40000a1f00, ^uint64(0), []imagemap.Mapping{{Start: 0xffffa7b2c000, End: 0xffffa7b2d000}}, 0x7f << 48},
	} {
		data := make([]byte, pageSize)
		binary.LittleEndian.PutUint64(data[argvAt-page:], tc.argv)
		p := speak(t, &MachineServer{
			FakeServer: FakeServer{thread: 7}, registers: named(map[string]uint64{"PC": 0x497854, "SP": tc.sp}), least: 4,
			variables: map[string]uint64{"runtime.argv": argvAt}, memory: unwind.Windows{{Addr: page, Data: data}},
		})
		if err := p.Begin(); err != nil {
			t.Fatal(err)
		}
		if got := (distant{p}).PACMask(tc.maps); got != tc.want {
			t.Errorf("%s: %#x, want %#x", name, got, tc.want)
		}
		for _, m := range append(tc.maps, imagemap.Mapping{Start: tc.sp, End: tc.sp + 1}) {
			if got := (distant{p}).PACMask(tc.maps); m.Start&got != 0 || (m.End-1)&got != 0 {
				t.Errorf("%s: the mask %#x cuts addresses of %+v", name, got, m)
			}
		}
	}
}

// everyField is a structure that has each field at its own offset, in the order in which it is asked for them.
type everyField map[string]int64

func (e everyField) Size() int64 { return 0x400 }

func (e everyField) Offset(path string) (int64, error) {
	if _, ok := e[path]; !ok {
		e[path] = int64(8 * (len(e) + 1))
	}
	return e[path], nil
}

// TestCurrentG: on arm64 the runtime's list of threads says which goroutine a thread has, whatever
// x28 holds; a thread that it does not list has none.
func TestCurrentG(t *testing.T) {
	const allM, m, g0, curg, page = 0x6a4010, 0x6a4100, 0x6a4600, 0x6a4c00, 0x6a4000
	g, machine := everyField{}, everyField{}
	layout, err := goruntime.NewLayout(g, machine, func(string) goruntime.Structure { return everyField{} })
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, pageSize)
	set := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-page:], v) }
	set(allM, m)
	set(m+uint64(machine["procid"]), 7)
	set(m+uint64(machine["g0"]), g0)
	set(m+uint64(machine["curg"]), curg)
	set(g0+uint64(g["m"]), m)
	fake := &MachineServer{
		FakeServer: FakeServer{thread: 7}, registers: named(arm64Registers), least: 4,
		variables: map[string]uint64{"runtime.allm": allM}, memory: unwind.Windows{{Addr: page, Data: data}},
	}
	p := speak(t, fake)
	if err := p.Begin(); err != nil {
		t.Fatal(err)
	}
	p.pid = 7
	of := func(arch unwind.Arch, thread uint64) uint64 {
		rt := &goruntime.Runtime{Layout: layout, Arch: arch, Memory: p.Memory()}
		return currentG(rt, thread, 0, func() map[uint64]uint64 { return machinesOf(p, rt) })
	}
	if a, b, c := of(unwind.ARM64, 7), of(unwind.ARM64, 8), of(unwind.AMD64, 7); a != curg || b != 0 || c != 0 {
		t.Errorf("%#x, %#x, %#x", a, b, c)
	}
	p.seen.pages = map[uint64][]byte{}
	set(m+uint64(machine["curg"]), 0)
	if got := of(unwind.ARM64, 7); got != g0 {
		t.Errorf("on its system stack: %#x", got)
	}
	if p.pid = 5007; of(unwind.ARM64, 7) != 0 {
		t.Error("the server has other numbers for threads, and one of them is the same")
	}
	p.pid = 7
	delete(fake.variables, "runtime.allm")
	if got := of(unwind.ARM64, 7); got != 0 {
		t.Errorf("without the list: %#x", got)
	}
}
