package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/clewdbg/clew/internal/elffile"
)

// The notes that matter here (elf.h of the GNU C library and Linux).
const (
	ntPrstatus = 1 // one for each thread
	ntPrpsinfo = 3
	ntSiginfo  = 0x53494749 // "SIGI": struct siginfo, of the signal that a thread has got
	ntAuxv     = 6
	ntFile     = 0x46494c45 // "FILE"
	ntPAC      = 0x406      // NT_ARM_PAC_MASK, by the name "LINUX"

	atHwcap       = 16
	atRandom      = 25 // bytes that the kernel has put onto the first thread's stack
	atEntry       = 9  // the executable's entry point
	atSysinfoEhdr = 33 // where the vDSO is
)

const (
	pageSize = 4096
	// maxNotes bounds the bytes that are read of all segments of notes. A thread
	// takes some kilobytes.
	maxNotes = 512 << 20
	// maxNote bounds one of them, for which Delve allocates what it claims. The longest is
	// NT_FILE: some hundred bytes for each mapping.
	maxNote = 64 << 20
	// maxThreads bounds notes of one kind, of which a thread has one: Delve looks at all threads for each request of a
	// client, and keeps what it has read of every note.
	maxThreads = 32768
	// maxKinds bounds the notes that a thread has. It has 4 to 15.
	maxKinds = 16
)

// errMany says that a core file holds more than Delve can read in time: it reads all of it before it answers anything.
var errMany = errors.New("take too long to read")

func tooMany(what string, limit int) error {
	return fmt.Errorf("it has more than %d %s, which %w", limit, what, errMany)
}

// notes is what they tell.
type notes struct {
	entry, vdso uint64
	onStack     uint64 // an address on the first thread's stack, 0 if none is known
	hwcap       uint64
	hasHwcap    bool
	size        uint64 // of all segments so far, in bytes
	died        Died
	pid         int
	pacMask     uint64 // of code's addresses, 0 where there is no note
	files       []mappedFile
	kinds       map[uint32]int // how many notes there are of each kind
	number      int            // of all notes
}

// mapped is an error where a core file has more mappings than it may. Delve copies its list of them for each that it adds:
// 10,000 take 3 s, 20,000 take 10. Users can raise the limit.
func mapped(number int) error {
	most := elffile.MostMappings()
	if uint64(number) <= most {
		return nil
	}
	return fmt.Errorf("it has %d mappings of memory and files, more than %d, which %w (fileLimits.mappings in clew.json raises the limit)", number, most, errMany)
}

// count counts a note.
func (n *notes) count(kind uint32) error {
	n.number++
	n.kinds[kind]++
	switch {
	case n.number > maxKinds*maxThreads:
		return tooMany("notes", maxKinds*maxThreads)
	case n.kinds[kind] <= maxThreads:
		return nil
	case kind == ntPrstatus:
		return tooMany("threads", maxThreads)
	}
	return tooMany(fmt.Sprintf("notes of type %#x", kind), maxThreads)
}

// mappedFile is a mapping of a file.
type mappedFile struct {
	start, end uint64
	offset     uint64 // in the file, in bytes
	path       string
}

// readNotes reads all segments of notes. That Delve would not survive them is the first error.
func readNotes(f *elf.File) (*notes, error) {
	n, noted := &notes{kinds: make(map[uint32]int)}, false
	var failed error
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		noted = true
		switch err := n.read(p, f); {
		case errors.Is(err, errLongNote), errors.Is(err, errMany): // behind the notes Delve takes anything for more
			return nil, err
		case failed == nil:
			failed = err
		}
	}
	if !noted {
		return nil, errNoNotes
	}
	return n, failed
}

// read takes in a segment of notes: {name size, size, type}, the name, the
// contents, the latter two padded to 4 bytes.
func (n *notes) read(p *elf.Prog, f *elf.File) error {
	if n.size += min(p.Filesz, maxNotes+1); n.size > maxNotes {
		return fmt.Errorf("%w: %d bytes of notes", errLongNote, n.size)
	}
	data, err := io.ReadAll(io.NewSectionReader(p.ReaderAt, 0, int64(p.Filesz)))
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	var failed error
	for whole := uint64(len(data)); len(data) >= 12; {
		nameSize, size := uint64(f.ByteOrder.Uint32(data)), uint64(f.ByteOrder.Uint32(data[4:]))
		kind := f.ByteOrder.Uint32(data[8:])
		if err := n.count(kind); err != nil {
			return err
		}
		start := 12 + padded(nameSize)
		if start+size > maxNote {
			return fmt.Errorf("%w: at offset %#x it claims %d bytes", errLongNote, p.Off+whole-uint64(len(data)), start+size)
		}
		if start+size > uint64(len(data)) {
			return failed // a file that is cut off still has what comes before
		}
		word := 8
		if f.Class == elf.ELFCLASS32 {
			word = 4
		}
		desc := words{data[start : start+size], f.ByteOrder, word}
		name := data[12 : 12+nameSize]
		// Delve's dumps have notes without a name.
		switch core := bytes.HasPrefix(name, []byte("CORE")) || len(bytes.Trim(name, "\x00")) == 0; {
		case core && kind == ntPrstatus && n.kinds[kind] == 1:
			n.status(desc)
		case core && kind == ntSiginfo && n.kinds[kind] == 1 && n.kinds[ntPrstatus] == 1:
			n.died.Info = desc.data
		case core && kind == ntPrpsinfo && len(desc.data) >= 28 && word == 8:
			n.pid = int(int32(desc.order.Uint32(desc.data[24:])))
		case core && kind == ntAuxv:
			n.auxv(desc)
		case core && kind == ntFile:
			if err := n.fileNote(desc); failed == nil {
				failed = err
			}
		case kind == ntPAC && bytes.HasPrefix(name, []byte("LINUX")):
			_, _ = desc.next() // the mask of data's addresses
			n.pacMask, _ = desc.next()
		}
		data = data[min(start+padded(size), uint64(len(data))):]
	}
	return failed
}

func padded(n uint64) uint64 { return (n + 3) &^ 3 }

// words reads machine words.
type words struct {
	data  []byte
	order binary.ByteOrder
	size  int
}

func (w *words) next() (uint64, bool) {
	if len(w.data) < w.size {
		return 0, false
	}
	var v uint64
	if w.size == 4 {
		v = uint64(w.order.Uint32(w.data))
	} else {
		v = w.order.Uint64(w.data)
	}
	w.data = w.data[w.size:]
	return v, true
}

// status reads the state of the first thread, which is the one that died (fs/coredump.c): struct elf_prstatus begins with the signal's
// number, code and errno, the number again, and two sets of signals of a word each.
func (n *notes) status(w words) {
	at := 16 + 2*w.size
	if len(w.data) < at+4 {
		return
	}
	n.died.Signal, n.died.Thread = int(int16(w.order.Uint16(w.data[12:]))), uint64(w.order.Uint32(w.data[at:]))
}

// auxv reads the auxiliary vector: pairs of words, ended by type 0.
func (n *notes) auxv(w words) {
	for {
		kind, ok1 := w.next()
		value, ok2 := w.next()
		if !ok1 || !ok2 || kind == 0 {
			return
		}
		switch kind {
		case atEntry:
			n.entry = value
		case atRandom:
			n.onStack = value
		case atSysinfoEhdr:
			n.vdso = value
		case atHwcap:
			n.hwcap, n.hasHwcap = value, true
		}
	}
}

// fileNote reads NT_FILE: the count, the size of a page, {start, end, offset in
// pages} for each, and their names, each ended by a zero byte.
func (n *notes) fileNote(w words) error {
	count, ok1 := w.next()
	page, ok2 := w.next()
	if !ok1 || !ok2 || count > uint64(len(w.data)/(3*w.size)) {
		return fmt.Errorf("NT_FILE: %d files do not fit in %d bytes", count, len(w.data))
	}
	files := make([]mappedFile, 0, count)
	for range count {
		start, _ := w.next()
		end, _ := w.next()
		offset, _ := w.next()
		files = append(files, mappedFile{start: start, end: end, offset: offset * page})
	}
	names := w.data
	for i := range files {
		name, rest, found := bytes.Cut(names, []byte{0})
		if !found {
			return fmt.Errorf("NT_FILE: %d names for %d files", i, count)
		}
		if files[i].end <= files[i].start {
			return fmt.Errorf("NT_FILE: %s is mapped from %#x to %#x", name, files[i].start, files[i].end)
		}
		files[i].path, names = string(name), rest
	}
	n.files = append(n.files, files...)
	return nil
}

// startsWith says whether a file begins with these bytes. A file may be shorter
// than the page that it is mapped to, which then ends in zeros.
func startsWith(path string, page []byte) (bool, error) {
	f, _, err := elffile.OpenRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	got := make([]byte, len(page))
	if _, err := io.ReadFull(f, got); err != nil && err != io.ErrUnexpectedEOF {
		return false, err
	}
	return bytes.Equal(got, page), nil
}
