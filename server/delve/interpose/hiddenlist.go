package interpose

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// Delve reads the loader's list of libraries as soon as it has attached, before clew has anything of the
// session to hide the list in (libraries.go), and reads each library whole. So the list is hidden in the process: between Delve's
// reading of the executable, which it logs, and its search for libraries, every thread of the process stands. The word
// by which debuggers find the list (DT_DEBUG in .dynamic; System V ABI, "Dynamic Section") is 0 for that moment. The
// process itself never reads it. It has its value again when Delve has attached, and at the latest after [listHidden].
// Test: TestAttachNative.

// listHidden bounds how long the list is hidden.
const listHidden = 2 * time.Second

// hiding is what is hidden, and whether anything is to be: Delve attaches to one process at a time.
var hiding struct {
	sync.Mutex
	attaching bool
	restore   func()
}

// Attaching is called when Delve is about to attach.
func Attaching() {
	hiding.Lock()
	defer hiding.Unlock()
	hiding.attaching = runtime.GOOS == "linux"
}

// HideList hides the list of the process that Delve has just attached to.
func HideList(pid int) {
	hiding.Lock()
	defer hiding.Unlock()
	if !hiding.attaching {
		return
	}
	hiding.attaching = false
	noteGuard(life.Load().Attach(pid)) // a process that was found by name was not announced before
	word, err := hideDebugWord(pid)
	if err != nil {
		delvelog.DAPError("Delve reads every library of process %d: the list of its libraries cannot be hidden: %v", pid, err)
		return
	}
	if word != nil {
		restore := sync.OnceFunc(word.restore)
		time.AfterFunc(listHidden, restore) // Delve may have failed to attach
		hiding.restore = restore
	}
}

// ShowList ends that.
func ShowList() {
	hiding.Lock()
	defer hiding.Unlock()
	hiding.attaching = false
	if hiding.restore != nil {
		hiding.restore()
		hiding.restore = nil
	}
}

// debugWord is a process's word that leads to the loader's list.
type debugWord struct {
	pid     int
	addr    uint64
	value   []byte
	unguard func()
}

// hideDebugWord overwrites the word, if there is one and it leads anywhere.
func hideDebugWord(pid int) (*debugWord, error) {
	w, err := findDebugWord(pid)
	if w == nil || err != nil {
		return nil, err
	}
	zero := make([]byte, len(w.value))
	w.unguard = Guarded(pid, w.addr, w.value, zero)
	return w, w.write(zero)
}

func findDebugWord(pid int) (*debugWord, error) {
	f, err := elffile.Open(procfs.Path(pid, "exe"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dynamic := f.Section(".dynamic") // by which Delve finds it
	if dynamic == nil || f.Class != elf.ELFCLASS64 {
		return nil, nil
	}
	entry, err := entryOf(pid, f.ByteOrder)
	if err != nil {
		return nil, err
	}
	start := dynamic.Addr + entry - f.Entry
	table := make([]byte, min(dynamic.Size, maxDynamic)&^15)
	if err := procfs.Memory(pid).ReadMemory(start, table); err != nil {
		return nil, err
	}
	for at := 0; at+16 <= len(table); at += 16 {
		switch tag := elf.DynTag(f.ByteOrder.Uint64(table[at:])); {
		case tag == elf.DT_NULL, tag == elf.DT_DEBUG && f.ByteOrder.Uint64(table[at+8:]) == 0:
			return nil, nil
		case tag == elf.DT_DEBUG:
			return &debugWord{pid: pid, addr: start + uint64(at) + 8, value: table[at+8 : at+16]}, nil
		}
	}
	return nil, nil
}

// entryOf is where the process's executable begins, as the kernel has told it (getauxval(3), AT_ENTRY).
func entryOf(pid int, order binary.ByteOrder) (uint64, error) {
	const atEntry = 9
	vector, err := os.ReadFile(procfs.Path(pid, "auxv"))
	if err != nil {
		return 0, err
	}
	for ; len(vector) >= 16; vector = vector[16:] {
		if order.Uint64(vector) == atEntry {
			return order.Uint64(vector[8:]), nil
		}
	}
	return 0, fmt.Errorf("%s has no AT_ENTRY", procfs.Path(pid, "auxv"))
}

func (w *debugWord) write(value []byte) error {
	mem, err := os.OpenFile(procfs.Path(w.pid, "mem"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	_, err = mem.WriteAt(value, int64(w.addr))
	return err
}

func (w *debugWord) restore() {
	if err := w.write(w.value); err != nil && !os.IsNotExist(err) {
		delvelog.DAPError("the list of libraries of process %d stays hidden from debuggers: %v", w.pid, err)
		return
	}
	w.unguard()
}
