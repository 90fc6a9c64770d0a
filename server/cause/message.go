package cause

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/unwind"
)

// maxText bounds a text that a program has left, in bytes.
const maxText = 64 << 10

// reader reads what a program has left of the cause of its death.
type reader struct {
	target *assembler.Target
	memory unwind.Memory
	code   *codemap.Map
}

func (r *reader) word(addr uint64) (uint64, bool) {
	v, err := unwind.ReadWord(r.memory, addr, r.target.Arch.PointerSize(), r.target.Arch.ByteOrder())
	return v, err == nil
}

// text reads a text that ends with a zero byte, "" if none does within n bytes.
func (r *reader) text(addr uint64, n int) string {
	var out []byte
	for len(out) < n {
		buf := make([]byte, 1)
		const piece = 64
		if rest := piece - int(addr%piece); rest > 1 {
			buf = make([]byte, rest)
		}
		if r.memory.ReadMemory(addr, buf) != nil {
			return ""
		}
		if i := bytes.IndexByte(buf, 0); i >= 0 {
			return string(append(out, buf[:i]...))
		}
		out, addr = append(out, buf...), addr+uint64(len(buf))
	}
	return ""
}

// bytes reads a text of a known length.
func (r *reader) bytes(addr, n uint64) (string, bool) {
	if n > maxText {
		return "", false
	}
	buf := make([]byte, n)
	if r.memory.ReadMemory(addr, buf) != nil {
		return "", false
	}
	return string(buf), true
}

// abortMessage is what the C library has printed before it called abort (glibc, debug/libc_fatal, struct abort_msg_s: its size, the text):
// of assert, of malloc and free, of stack protection.
func (r *reader) abortMessage() string {
	at := r.code.Variable("__abort_msg")
	if at == 0 {
		return ""
	}
	message, ok := r.word(at)
	if !ok || message == 0 {
		return ""
	}
	return strings.TrimRight(r.text(message+4, maxText), "\n")
}

// goMessage is the text of a panic or of an error of Go's runtime.
func (r *reader) goMessage(d *death, dying *goruntime.Dying, frames []unwind.Frame) string {
	switch {
	case d.fatal:
		if text := goruntime.Backlog(r.memory, r.code.Variable("runtime.printBacklog"), r.code.Variable("runtime.printBacklogIndex")); text != "" {
			return goruntime.FatalPrefix + text
		}
		if text := r.passed(frames); text != "" {
			return goruntime.FatalPrefix + text
		}
	case dying != nil && len(dying.Panics) > 0:
		return "panic: " + strings.Join(dying.Panics, "\n\tpanic: ")
	}
	return ""
}

// passed is the text that runtime.throw or runtime.fatal was called with, of a thread that stands at its beginning: a debugger stops it there,
// before anything is printed. Go passes a string in its first two registers (Go's internal ABI).
func (r *reader) passed(frames []unwind.Frame) string {
	registers := map[unwind.Arch][2]string{unwind.AMD64: {"rax", "rbx"}, unwind.ARM64: {"x0", "x1"}}[r.target.Arch]
	f := &frames[0]
	if f.Function != "runtime.throw" && f.Function != "runtime.fatal" || registers[0] == "" {
		return ""
	}
	const prologue = 48 // bytes
	if fn, ok := r.code.Function(f.PC.Lookup(r.target.Arch)); !ok || f.PC.Raw()-fn.Start > prologue {
		return ""
	}
	var words [2]uint64
	for i, name := range registers {
		reg, _ := r.target.Arch.ParseRegister(name)
		words[i], _ = f.Registers.Get(reg)
	}
	text, ok := r.bytes(words[0], words[1])
	if !ok || printable.Lines(text) != text {
		return ""
	}
	return text
}

// message is what a program that a signal has ended has said of it.
func (r *reader) message(fault *Fault, frames []unwind.Frame) string {
	if fault.Signal != syscall.SIGABRT || r.code == nil {
		return ""
	}
	if text := r.exception(frames); text != "" {
		return "uncaught exception: " + text
	}
	for i := range frames {
		if strings.HasPrefix(frames[i].Function, "__cxa_pure_virtual") {
			return "pure virtual method called"
		}
	}
	return r.abortMessage()
}

// limitText cuts a text that is longer than anyone reads.
func limitText(s string) string {
	const most = 8 << 10
	if len(s) <= most {
		return s
	}
	return s[:most] + fmt.Sprintf(" (and %d bytes more)", len(s)-most)
}
