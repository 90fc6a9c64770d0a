package remote

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// The kernel's own library is in no list of a server's. Its address is in the auxiliary vector, behind the program's
// arguments and environment on the first thread's stack (System V ABI, "Initial Process Stack"). Handlers of signals on
// arm64 return to it.

const vdsoPath = "[vdso]"

const (
	sysinfoEHDR = 33      // AT_SYSINFO_EHDR
	maxInitial  = 4 << 20 // of what is read there, in bytes: Linux allows a quarter of the stack for the arguments' text, not for these words
)

// vdso is the kernel's library; ok is false where that is not found, started where the runtime has not got its arguments yet.
func (p *Program) vdso() (img image, started, ok bool) {
	at, err := p.address("runtime.argv")
	if err != nil {
		return img, true, false
	}
	memory := examined{p.client}
	var argv [8]byte
	if memory.ReadMemory(at, argv[:]) != nil {
		return img, true, false
	}
	first := binary.LittleEndian.Uint64(argv[:])
	if first == 0 {
		return img, false, false
	}
	base, ok := auxiliary(memory, first, sysinfoEHDR)
	if !ok {
		return img, true, false
	}
	img, err = imageAt(memory, vdsoPath, base)
	return img, true, err == nil
}

// auxiliary reads a value of the auxiliary vector, which follows the arguments and the environment.
func auxiliary(memory unwind.Memory, argv, key uint64) (value uint64, ok bool) {
	words := initial{memory: memory, at: argv}
	for lists := 0; lists < 2; { // each ends with 0
		word, ok := words.next()
		if !ok {
			return 0, false
		}
		if word == 0 {
			lists++
		}
	}
	for {
		k, ok := words.next()
		v, more := words.next()
		if !ok || !more || k == 0 {
			return 0, false
		}
		if k == key {
			return v, true
		}
	}
}

// initial reads words of the initial stack, a page at a time.
type initial struct {
	memory unwind.Memory
	at     uint64 // of what is read next
	read   int    // bytes so far
	page   []byte
}

func (w *initial) next() (word uint64, ok bool) {
	const size = 8
	if len(w.page) < size {
		if w.read += pageSize; w.read > maxInitial || w.at%size != 0 {
			return 0, false
		}
		w.page = make([]byte, pageSize-w.at%pageSize)
		if w.memory.ReadMemory(w.at, w.page) != nil {
			return 0, false
		}
	}
	word, w.page, w.at = binary.LittleEndian.Uint64(w.page), w.page[size:], w.at+size
	return word, true
}
