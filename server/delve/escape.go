package delve

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// A frame of C or C++ can be left otherwise than by returning: by longjmp, or by an
// exception that a caller catches. A step that it belongs to ends where the program lands.
// On the way there the program passes one of these functions.
const catching = "__cxa_begin_catch" // which a handler of C++ calls first

// One of several names for an address is known: glibc has them in this order.
var jumping = []string{"__libc_longjmp", "__libc_siglongjmp", "_longjmp", "longjmp", "siglongjmp", "__longjmp_chk"}

// escape is a function that a thread passes on the way, and what tells there where it lands.
type escape struct {
	pc    uint64
	lands func(proc.Thread) (landing, bool)
}

// escapesOf finds the functions where it can be seen that a C frame is left.
func (b *temporary) escapesOf(d *stepping.Decision) {
	t := b.target
	fn := t.BinInfo().PCToFunc(pcOfStep(t))
	if !d.Through || d.Find == nil || b.left == 0 || fn == nil || !isNative(fn) || t.BinInfo().Arch.Name != "amd64" {
		return
	}
	add := func(name string, lands func(proc.Thread) (landing, bool)) {
		for _, pc := range d.Find(name) {
			if !slices.ContainsFunc(b.escapes, func(e escape) bool { return e.pc == pc }) {
				b.escapes = append(b.escapes, escape{pc, lands})
			}
		}
	}
	add(catching, b.caught)
	for _, name := range jumping {
		add(name, b.jumped)
	}
}

// sees places a breakpoint where a thread lands that leaves the frame. It stops nothing
// itself.
func (b *temporary) sees(e escape) func(proc.Thread, *proc.Target) (bool, error) {
	return func(th proc.Thread, _ *proc.Target) (bool, error) {
		if to, ok := e.lands(th); ok && to.sp > b.left && b.isCode(to.pc) {
			_ = b.set(to.pc, sameThread(0, uint64(th.ThreadID())), to.reached)
		}
		return false, nil
	}
}

// isCode reports whether the program can run what is at pc. Another C library mangles
// otherwise, and a breakpoint must never be written into data.
func (b *temporary) isCode(pc uint64) bool {
	text, err := procfs.ReadMaps(b.target.Pid())
	if err != nil {
		return false
	}
	maps, err := imagemap.ParseMaps(bytes.NewReader(text))
	return err == nil && procfs.Ranges(maps, "x").Contains(pc)
}

// threadNow is the thread that runs what steps. In C it stays.
func (b *temporary) threadNow() uint64 {
	if b.thread != 0 {
		return b.thread
	}
	return uint64(b.target.CurrentThread().ThreadID())
}

// landing is where a frame goes on that others below it are left for.
type landing struct{ pc, sp uint64 }

// reached says whether a thread has come there.
func (l landing) reached(th proc.Thread, _ *proc.Target) (bool, error) {
	regs, err := th.Registers()
	return err == nil && regs.SP() == l.sp, nil
}

// caught is called at the start of __cxa_begin_catch: its caller is the handler.
func (b *temporary) caught(th proc.Thread) (to landing, ok bool) {
	regs, err := th.Registers()
	if err != nil {
		return to, false
	}
	pc, ok := b.word(regs.SP())
	return landing{pc, regs.SP() + 8}, ok
}

// What of glibc's jmp_buf tells where it leads, on amd64: both are mangled with the
// thread's pointer guard (sysdeps/x86_64/jmpbuf-offsets.h, pointer_guard.h).
const (
	jumpSP, jumpPC = 6 * 8, 7 * 8
	pointerGuard   = 0x30 // in the thread's control block
	mangling       = 17
)

// rdi has a function's first argument (System V psABI, figure 3.36 for its number).
const rdi unwind.Register = 5

// jumped is called at the start of longjmp.
func (b *temporary) jumped(th proc.Thread) (to landing, ok bool) {
	regs, tls, err := registers(th)
	if err != nil {
		return to, false
	}
	buffer, _ := regs.Get(rdi)
	guard, ok1 := b.word(tls + pointerGuard)
	sp, ok2 := b.word(buffer + jumpSP)
	pc, ok3 := b.word(buffer + jumpPC)
	plain := func(v uint64) uint64 { return bits.RotateLeft64(v, -mangling) ^ guard }
	return landing{plain(pc), plain(sp)}, ok1 && ok2 && ok3
}

func (b *temporary) word(addr uint64) (uint64, bool) {
	var word [8]byte
	n, err := b.target.Memory().ReadMemory(word[:], addr)
	return binary.LittleEndian.Uint64(word[:]), err == nil && n == len(word)
}
