package cause

import (
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// record is a signal's frame on linux/amd64 (struct rt_sigframe behind its first word).
func record(sp, pc uint64, signo, code uint32, address uint64) unwind.Windows {
	data := make([]byte, amd64Siginfo+InfoSize)
	binary.LittleEndian.PutUint64(data[amd64PC:], pc)
	binary.LittleEndian.PutUint64(data[errorCode:], bitWrite)
	info := data[amd64Siginfo:]
	binary.LittleEndian.PutUint32(info, signo)
	binary.LittleEndian.PutUint32(info[8:], code)
	binary.LittleEndian.PutUint64(info[16:], address)
	return unwind.Windows{{Addr: sp, Data: data}}
}

func frame(function string, pc uint64, kind unwind.PCKind) unwind.Frame {
	f := unwind.Frame{Function: function, PC: unwind.Code(pc, kind)}
	f.Registers.Set(unwind.AMD64.SP(), 0x9000)
	return f
}

// TestReadDeath: where a stack says how its thread died.
func TestReadDeath(t *testing.T) {
	const ra, in = unwind.KindReturn, unwind.KindInstruction
	segv := record(0x9000, 0x500, 11, 1, 0x8)
	own := frame("runtime.raise", 0x100, in)
	handled := []unwind.Frame{frame("runtime.write1", 0x1, in), frame("runtime.sighandler", 0x2, ra), frame("__restore_rt", 0x3, ra), frame("f", 0x500, in), frame("main", 0x6, ra)}
	for name, c := range map[string]struct {
		memory unwind.Windows
		frames []unwind.Frame
		kernel *Fault
		want   death
	}{
		"by the kernel":            {nil, []unwind.Frame{frame("f", 0x500, in)}, &Fault{Signal: 6, Code: codeThread}, death{frame: 0, fault: &Fault{Signal: 6}}},
		"in a handler":             {segv, handled, nil, death{frame: 3, fault: &Fault{Signal: 11, Address: 8}}},
		"raised by the runtime":    {segv, append([]unwind.Frame{own}, handled[1:]...), &Fault{Signal: 6, Code: codeThread}, death{frame: 3, fault: &Fault{Signal: 11, Address: 8}}},
		"another PC in the record": {record(0x9000, 0x501, 11, 1, 8), handled, nil, death{frame: -1}},
		"not fatal":                {record(0x9000, 0x500, uint32(syscall.SIGURG), 0, 8), handled, nil, death{frame: -1}},
		"panic":                    {nil, []unwind.Frame{frame("runtime.fatalpanic", 1, ra), frame("runtime.gopanic", 2, ra), frame("main.f", 3, ra)}, nil, death{frame: 2, panicked: true}},
		"nil": {nil, []unwind.Frame{frame("runtime.gopanic", 2, ra), frame("runtime.panicmem", 3, ra), frame("runtime.sigpanic", 3, ra), frame("main.f", 3, in)}, nil,
			death{frame: 3, panicked: true, byPanic: true}},
		"panic after one that a deferred function met": {nil, []unwind.Frame{frame("runtime.gopanic", 2, ra), frame("main.f.func1", 3, ra), frame("runtime.sigpanic", 4, ra), frame("main.f", 5, in)}, nil,
			death{frame: 1, panicked: true}},
		"throw in a handler": {record(0x9000, 0x500, 27, 0, 0), []unwind.Frame{frame("runtime.throw", 1, ra), frame("runtime.sigtrampgo", 2, ra), frame("__restore_rt", 3, ra), frame("main.f", 0x500, in)}, nil,
			death{frame: 3, fatal: true}},
		"nothing": {nil, []unwind.Frame{frame("main.f", 1, in), frame("main", 2, ra)}, nil, death{frame: -1}},
		"empty":   {nil, nil, nil, death{frame: -1}},
	} {
		target := &assembler.Target{Arch: unwind.AMD64, OS: "linux", Memory: c.memory}
		got := readDeath(target, c.frames, c.kernel)
		same := (got.fault == nil) == (c.want.fault == nil) && got.frame == c.want.frame && got.panicked == c.want.panicked && got.fatal == c.want.fatal && got.byPanic == c.want.byPanic
		if same && got.fault != nil {
			same = got.fault.Signal == c.want.fault.Signal && got.fault.Address == c.want.fault.Address
		}
		if !same {
			t.Errorf("%s: %+v (%+v), want %+v", name, got, got.fault, c.want)
		}
		if got.fault != nil && got.fault.Signal == 11 && got.fault.access != aWrite {
			t.Errorf("%s: %s", name, got.fault.access)
		}
	}
}

// code is instructions at an address.
type code struct {
	assembler.CodeMap
	bytes []byte
}

func (c code) Bytes(uint64, int) []byte { return c.bytes }

// TestAccessByCode: what an instruction tried at an address.
func TestAccessByCode(t *testing.T) {
	for name, c := range map[string]struct {
		bytes   []byte
		address uint64
		want    string
	}{
		"mov eax, [rdi]":      {[]byte{0x8b, 0x07}, 8, aRead},
		"mov [rdi], eax":      {[]byte{0x89, 0x07}, 8, aWrite},
		"cmp [rdi], eax":      {[]byte{0x39, 0x07}, 8, aRead},
		"add [rdi], eax":      {[]byte{0x01, 0x07}, 8, anAccess},
		"push rax":            {[]byte{0x50}, 0x8ff8, aWrite},
		"call [rdi]":          {[]byte{0xff, 0x17}, 8, aRead},
		"call, stack at end":  {[]byte{0xe8, 0, 0, 0, 0}, 0x8ff8, aWrite},
		"jump to where it is": {[]byte{0x90}, 0x500, aJump},
		"nop":                 {[]byte{0x90}, 8, anAccess},
		"nothing":             {nil, 8, anAccess},
	} {
		target := &assembler.Target{Arch: unwind.AMD64, OS: "linux", Code: code{bytes: c.bytes}}
		if got := accessByCode(target, []unwind.Frame{frame("f", 0x500, unwind.KindInstruction)}, c.address); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
