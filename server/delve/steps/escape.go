package steps

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// A frame of C, C++ or Rust can be left otherwise than by returning: by longjmp, or by an
// exception that a caller catches. A step that it belongs to ends where the program lands.
// On the way there the program passes one of these functions.

// catching are the functions that a handler calls first: of C++ (Itanium C++ ABI: Exception Handling, 2.5.3), and of Rust's
// standard library, in two of its releases.
var catching = []string{"__cxa_begin_catch", "std::panicking::catch_unwind::cleanup", "std::panicking::try::cleanup"}

// One of several names for an address is known: glibc has them in this order.
var jumping = []string{"__libc_longjmp", "__libc_siglongjmp", "_longjmp", "longjmp", "siglongjmp", "__longjmp_chk"}

// escape is a function that a thread passes on the way, and what tells there where it lands.
type escape struct {
	pc    uint64
	lands func(proc.Thread) (landing, bool)
}

// escapesOf finds the functions where it can be seen that a C frame is left.
func (b *temporary) escapesOf(d *stepping.Decision) {
	if !d.Native || b.left == 0 || leavings[targets.Arch(b.target)] == nil {
		return
	}
	add := func(name string, lands func(proc.Thread) (landing, bool)) {
		for _, pc := range d.Code.Find(name) {
			if !slices.ContainsFunc(b.escapes, func(e escape) bool { return e.pc == pc }) {
				b.escapes = append(b.escapes, escape{pc, lands})
			}
		}
	}
	b.setjmps = d.Code.Find("__sigsetjmp") // which all others are
	for _, name := range catching {
		add(name, b.caught)
	}
	for _, name := range jumping {
		add(name, b.jumped)
	}
}

// sees places a breakpoint where a thread lands that leaves the frame. It stops nothing
// itself.
func (b *temporary) sees(e escape) func(proc.Thread, *proc.Target) (bool, error) {
	return func(th proc.Thread, _ *proc.Target) (bool, error) {
		if to, ok := e.lands(th); ok && b.leaves(to) && b.isCode(to.pc) {
			_ = b.set(to.pc, sameThread(0, uint64(th.ThreadID())), to.reached)
		}
		return false, nil
	}
}

// leaves says whether a landing is in the frame that is stepped in, or beyond.
func (b *temporary) leaves(to landing) bool {
	if b.lines != nil {
		if inside, known := b.lines.Below(to.pc, to.sp); known {
			return !inside
		}
	}
	return to.sp >= b.left
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

// leaving is what differs between processors.
type leaving struct {
	// called is where the function goes on that has just called one, and with which stack pointer.
	called func(b *temporary, regs *unwind.Registers) (landing, bool)
	// argument has a function's first one. Offsets are those of glibc's jmp_buf, which tell where it leads.
	argument unwind.Register
	sp, pc   uint64
	// guard finds the number that both are mangled with, and rotated by so many bits before.
	guard   func(b *temporary, tls uint64) (uint64, bool)
	rotated int
}

var leavings = map[unwind.Arch]*leaving{
	// sysdeps/x86_64/jmpbuf-offsets.h, pointer_guard.h; the argument's register has the number of figure 3.36 of the System V psABI
	unwind.AMD64: {called: (*temporary).pushed, argument: 5, sp: 6 * 8, pc: 7 * 8, guard: (*temporary).threadsGuard, rotated: 17},
	// sysdeps/aarch64/jmpbuf-offsets.h, setjmp.S, pointer_guard.h
	unwind.ARM64: {called: (*temporary).linked, argument: 0, sp: 13 * 8, pc: 11 * 8, guard: (*temporary).codesGuard},
}

// caught is called at the start of what a handler calls first: its caller is the handler.
func (b *temporary) caught(th proc.Thread) (to landing, ok bool) {
	regs, _, err := targets.Registers(th)
	if err != nil {
		return to, false
	}
	return leavings[targets.Arch(b.target)].called(b, &regs)
}

// pushed is where a call goes on that has pushed its return address.
func (b *temporary) pushed(regs *unwind.Registers) (to landing, ok bool) {
	sp, known := regs.SP(unwind.AMD64)
	pc, ok := b.word(sp)
	return landing{pc, sp + 8}, ok && known
}

// linked is where a call goes on that has its return address in x30.
func (b *temporary) linked(regs *unwind.Registers) (to landing, ok bool) {
	sp, known := regs.SP(unwind.ARM64)
	pc, ok := regs.Get(unwind.ARM64LR)
	return landing{pc, sp}, ok && known
}

// threadsGuard reads the guard in the thread's control block.
func (b *temporary) threadsGuard(tls uint64) (uint64, bool) {
	const pointerGuard = 0x30
	return b.word(tls + pointerGuard)
}

// codesGuard reads it where glibc's setjmp does.
func (b *temporary) codesGuard(uint64) (uint64, bool) {
	for _, pc := range b.setjmps {
		code := make([]byte, 32*4)
		n, err := b.target.Memory().ReadMemory(code, pc)
		if err != nil {
			continue
		}
		if guard, ok := mangledWith(code[:n], pc, b.word); ok {
			return guard, true
		}
	}
	return 0, false
}

// jumped is called at the start of longjmp.
func (b *temporary) jumped(th proc.Thread) (to landing, ok bool) {
	regs, tls, err := targets.Registers(th)
	if err != nil {
		return to, false
	}
	by := leavings[targets.Arch(b.target)]
	buffer, _ := regs.Get(by.argument)
	guard, ok1 := by.guard(b, tls)
	sp, ok2 := b.word(buffer + by.sp)
	pc, ok3 := b.word(buffer + by.pc)
	plain := func(v uint64) uint64 { return bits.RotateLeft64(v, -by.rotated) ^ guard }
	return landing{plain(pc), plain(sp)}, ok1 && ok2 && ok3
}

func (b *temporary) word(addr uint64) (uint64, bool) { return targets.Word(b.target, addr) }
