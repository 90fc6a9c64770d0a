package corefile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// File is an open core file. It is safe for concurrent use until it is closed.
type File struct {
	path     string
	elf      *elffile.File
	segments []segment
	maps     []imagemap.Mapping
	omitted  map[uint64]bool // starts of mappings whose permissions are not known
	entry    uint64          // the executable's entry point, 0 if unknown
	signs    bool            // false where the processor cannot sign addresses
	pacMask  uint64          // as the kernel has noted it, else 0
	died     Died
}

// segment is memory that the file holds.
type segment struct {
	unwind.Range
	data io.ReaderAt
}

// Error says why a core file cannot be used.
type Error struct {
	Path string
	Err  error
}

// Error names the file and the cause.
func (e *Error) Error() string { return fmt.Sprintf("core file %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open opens a core file. The errors are [*Error].
func Open(path string) (*File, error) { return open(path, path) }

// open opens the core file at where, which the user calls path.
func open(path, where string) (*File, error) {
	e, err := elffile.Open(where)
	if err != nil {
		short := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch format := new(elf.FormatError); {
		case short, errors.As(err, &format) && strings.Contains(format.Error(), "bad magic number"):
			err = errNoELF
		case errors.As(err, &format):
			err = fmt.Errorf("%w: %w", errNoELF, err)
		}
		return nil, &Error{path, err}
	}
	f := &File{path: path, elf: e}
	if err := f.read(); err != nil {
		_ = e.Close()
		return nil, &Error{path, err}
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.elf.Close() }

var (
	errNoELF  = errors.New("not an ELF core file")
	errNoCore = errors.New("an ELF file, but not a core file")
	// Delve survives neither of these: it takes the first segment of notes without a look whether there is one, and
	// allocates what a note claims.
	errNoNotes  = errors.New("it has no notes: nothing says which threads there were")
	errLongNote = errors.New("a note of it is too long")
)

func (f *File) read() error {
	if f.elf.Type != elf.ET_CORE {
		return errNoCore
	}
	notes, err := readNotes(f.elf.File)
	if notes != nil { // before all other faults: Delve does not see them
		if many := mapped(written(f.elf.Progs) + len(notes.files)); many != nil {
			return many
		}
	}
	if err != nil {
		return err
	}
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		end := p.Vaddr + p.Memsz
		if end < p.Vaddr || p.Filesz > p.Memsz {
			return fmt.Errorf("the mapping at %#x has impossible sizes (%#x in memory, %#x in the file)", p.Vaddr, p.Memsz, p.Filesz)
		}
		if p.Memsz == 0 {
			continue
		}
		f.maps = append(f.maps, imagemap.Mapping{Start: p.Vaddr, End: end, Perm: procfs.Permissions(p.Flags)})
		if p.Filesz > 0 {
			f.segments = append(f.segments, segment{unwind.Range{Start: p.Vaddr, End: p.Vaddr + p.Filesz}, p.ReaderAt})
		}
	}
	sort.Slice(f.segments, func(i, j int) bool { return f.segments[i].Start < f.segments[j].Start })
	f.name(notes)
	sort.SliceStable(f.maps, func(i, j int) bool { return f.maps[i].Start < f.maps[j].Start })
	f.entry, f.died = notes.entry, notes.died
	f.died.Pid, f.died.Order = notes.pid, f.elf.ByteOrder
	f.signs, f.pacMask = !notes.hasHwcap || notes.hwcap&procfs.HasPAC != 0, notes.pacMask
	return nil
}

// written counts the mappings of which memory was written out.
func written(progs []*elf.Prog) (n int) {
	for _, p := range progs {
		if p.Type == elf.PT_LOAD && p.Filesz > 0 {
			n++
		}
	}
	return n
}

// name returns the mappings their files. Files have no inode numbers here: they are
// numbered, so that mappings of one file can be told.
func (f *File) name(n *notes) {
	inodes := make(map[string]uint64)
	at := make(map[uint64]int, len(f.maps))
	for i := range f.maps {
		at[f.maps[i].Start] = i
		if n.vdso != 0 && f.maps[i].Start == n.vdso {
			f.maps[i].Path = "[vdso]"
		}
		if n.onStack >= f.maps[i].Start && n.onStack < f.maps[i].End {
			f.maps[i].Path = "[stack]"
		}
	}
	for _, file := range n.files {
		inode, ok := inodes[file.path]
		if !ok {
			inode = uint64(len(inodes) + 1)
			inodes[file.path] = inode
		}
		i, ok := at[file.start]
		if !ok { // gcore leaves out memory that files hold
			if f.omitted == nil {
				f.omitted = make(map[uint64]bool)
			}
			f.omitted[file.start] = true
			i = len(f.maps)
			f.maps = append(f.maps, imagemap.Mapping{Start: file.start, End: file.end, Perm: "r--p"})
		}
		m := &f.maps[i]
		m.Path, m.Offset, m.Inode = file.path, file.offset, inode
	}
}

// Complete finds out which mappings hold code, of those that the core file names
// and does not describe: what the file's program headers say. find says where a
// file is now. A mapping whose file is not there counts as data.
func (f *File) Complete(find func(path string) string) {
	for i := range f.maps {
		m := &f.maps[i]
		if !f.omitted[m.Start] {
			continue
		}
		file, info, err := elffile.OpenRegular(find(m.Path))
		if err != nil {
			continue
		}
		complete(m, file, info.Size())
		_ = file.Close()
	}
}

// protection returns the flags of Mach-O, where reading is 1, in ELF's terms.
func protection(prot uint32) (flags elf.ProgFlag) {
	for i, flag := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		if prot>>i&1 != 0 {
			flags |= flag
		}
	}
	return flags
}

// complete sets a mapping's permissions to those in its file.
func complete(m *imagemap.Mapping, file *os.File, size int64) {
	if e, _, err := elffile.New(file, size, size); err == nil {
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD && m.Offset == p.Off&^(pageSize-1) {
				m.Perm = procfs.Permissions(p.Flags)
			}
		}
		return
	}
	slices, err := macho.Slices(file)
	if err != nil {
		return
	}
	for _, slice := range slices {
		f, err := macho.Read(slice.Open(file))
		if err != nil {
			continue
		}
		for _, s := range f.Segments {
			if s.Data > 0 && m.Offset == slice.Offset+s.Offset {
				m.Perm = procfs.Permissions(protection(s.Prot))
			}
		}
	}
}

// Maps returns the text of /proc/PID/maps as far as the core file has it.
func (f *File) Maps() string {
	var b strings.Builder
	for _, m := range f.maps {
		fmt.Fprintf(&b, "%x-%x %s %08x 00:00 %d", m.Start, m.End, m.Perm, m.Offset, m.Inode)
		if m.Path != "" {
			fmt.Fprintf(&b, " %s", escape(m.Path))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// escape writes a path as the kernel does in maps: a line break as \012.
func escape(path string) string { return strings.ReplaceAll(path, "\n", `\012`) }

// PACMask has the bits that signatures of addresses take, of linux/arm64 (R11): as the
// kernel has noted it, else derived from the mappings. A note that covers bits of mappings'
// addresses does not count.
func (f *File) PACMask(maps []imagemap.Mapping) uint64 {
	derived := procfs.PACMask(maps)
	switch {
	case !f.signs:
		return 0
	case f.pacMask != 0 && f.pacMask&^derived == 0:
		return f.pacMask
	}
	return derived
}

// Inode is the number that a file's mappings have in [File.Maps], 0 for none.
func (f *File) Inode(path string) uint64 {
	for _, m := range f.maps {
		if m.Path == path {
			return m.Inode
		}
	}
	return 0
}

// Died is what a core file says of the signal that ended the process.
type Died struct {
	Thread uint64 // that has got it
	Signal int    // its number, 0 where none has ended the process
	Info   []byte // struct siginfo, nil where it was not written
	Order  binary.ByteOrder
	Pid    int // the process's ID, as it saw itself; 0 if it is not known
}

// Died returns that.
func (f *File) Died() Died { return f.died }

// Executable is the path that the program was run from, "" if unknown.
func (f *File) Executable() string {
	for _, m := range f.maps {
		if f.entry >= m.Start && f.entry < m.End {
			return m.Path
		}
	}
	return ""
}

// ReadMemory implements [unwind.Memory], for the memory that was written out.
func (f *File) ReadMemory(addr uint64, p []byte) error {
	for n := 0; n < len(p); {
		at := addr + uint64(n)
		i := sort.Search(len(f.segments), func(i int) bool { return f.segments[i].End > at })
		if i == len(f.segments) || at < f.segments[i].Start {
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: errNotThere}
		}
		s := f.segments[i]
		k, err := s.data.ReadAt(p[n:n+int(min(uint64(len(p)-n), s.End-at))], int64(at-s.Start))
		if k == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = errCut
			}
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
		}
		n += k
	}
	return nil
}

var (
	errNotThere = errors.New("the core file does not have it")
	errCut      = errors.New("the core file is cut off there")
)

// An OtherBuildError says that a core file and an executable do not belong together.
type OtherBuildError struct {
	Core, Executable string
	RunAs            string // the path that the program was run from
}

func (e *OtherBuildError) Error() string {
	return fmt.Sprintf("core file %s is of another build than %s (it was run as %s); name the executable of that build", e.Core, e.Executable, e.RunAs)
}

// An OtherMachineError says that a core file and an executable are for different machines.
type OtherMachineError struct {
	Core, Executable string
	Has, Wants       elf.Machine // of the core file, of the executable
}

func (e *OtherMachineError) Error() string {
	return fmt.Sprintf("core file %s is of a process on %v, and %s is for %v; name the executable of that process", e.Core, e.Has, e.Executable, e.Wants)
}

// CheckExecutable is an [OtherMachineError] or [OtherBuildError] where the core file at path is of another
// machine or build than the executable, as far as it tells: stacks that are unwound and named
// by the wrong file look right and are not.
func CheckExecutable(path, executable string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.CheckExecutable(executable)
}

// CheckExecutable is the function of that name for a file that is open.
func (f *File) CheckExecutable(executable string) error {
	if machine, ok := f.machineOf(executable); ok && machine != f.elf.Machine {
		return &OtherMachineError{f.path, executable, f.elf.Machine, machine}
	}
	mapped := f.Executable()
	if mapped == "" {
		return nil
	}
	if same, known, err := f.Built(mapped, executable); known && err == nil && !same {
		return &OtherBuildError{f.path, executable, mapped}
	}
	return nil
}

// machineOf is the machine that a file is for, if it is an ELF file.
func (f *File) machineOf(path string) (elf.Machine, bool) {
	file, _, err := elffile.OpenRegular(path)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	const at = 18 // of e_machine, in both classes
	var head [at + 2]byte
	if _, err := io.ReadFull(file, head[:]); err != nil || string(head[:4]) != elf.ELFMAG || elf.Data(head[elf.EI_DATA]) != f.elf.Data {
		return 0, false
	}
	return elf.Machine(f.elf.ByteOrder.Uint16(head[at:])), true
}

// Built says whether the file at path is what the process had mapped, as far as
// the core file tells: known is false where the file's first page was not
// written out.
func (f *File) Built(mapped, path string) (same, known bool, err error) {
	for _, m := range f.maps {
		if m.Path != mapped || m.Offset != 0 {
			continue
		}
		page := make([]byte, min(m.End-m.Start, pageSize))
		if f.ReadMemory(m.Start, page) != nil {
			return false, false, nil
		}
		same, err := startsWith(path, page)
		return same, err == nil, err
	}
	return false, false, nil
}
