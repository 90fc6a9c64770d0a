package values

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// Reasons for which a thread's variable has no place.
var (
	errNoThread   = errors.New("it is a variable of each thread (TLS), and the thread is not known here")
	errTLS        = errors.New("it is a variable of each thread (TLS), and where the C library has put this library's is not known")
	errOutsideTLS = errors.New("it is a variable of each thread (TLS), and DWARF places it outside of what the executable has of these")
	errUntouched  = errors.New("it is a variable of each thread (TLS), and this thread has not used it yet")
)

// maxModules bounds the images with variables of threads.
const maxModules = 1 << 16

// threadPointers are the registers, by DWARF's number, that thread-local storage lies around: fs.base and TPIDR_EL0.
var threadPointers = map[unwind.Arch]uint64{unwind.AMD64: 58, unwind.ARM64: 36}

// TLS implements [location.Context]. The executable's variables lie where the linker has put them, a constant distance from the thread pointer (ELF
// Handling For Thread-Local Storage, section 3.4). A library's are where the dynamic linker of glibc has noted it.
func (f *Frame) TLS(offset uint64) (uint64, error) {
	s := f.stack
	reg, ok := threadPointers[s.Arch]
	if !ok || s.Vector == nil {
		return 0, errNoThread
	}
	data, ok := s.Vector(reg)
	if !ok || len(data) < 8 {
		return 0, errNoThread
	}
	tp := f.Order().Uint64(data)
	if tp == 0 {
		return 0, errUntouched
	}
	if t, ok := s.Code.ExecutableTLS(f.at.Index); ok {
		if offset >= t.Size {
			// gcc with -gsplit-dwarf has the variable's address in the file instead (.quad own, without @dtpoff). Test: TestValues (integration/dap).
			if offset < t.Addr || offset-t.Addr >= t.Size {
				return 0, errOutsideTLS
			}
			offset -= t.Addr
		}
		if s.Arch == unwind.AMD64 { // below the thread pointer
			return tp - (t.Size+t.Align-1)/t.Align*t.Align + offset, nil
		}
		return tp + (16+t.Align-1)/t.Align*t.Align + offset, nil
	}
	block, err := f.libraryTLS(tp)
	return block + offset, err
}

// libraryTLS finds a library's block. What glibc has in its structures follows from the constants that it exports for debuggers: of each
// field its size in bits, how many there are, and its offset (nptl_db/structs.def).
func (f *Frame) libraryTLS(tp uint64) (uint64, error) {
	word := func(addr uint64) (uint64, error) { return f.inMemory("", addr, wordType).word() }
	field := func(name string) (uint64, error) {
		at := f.stack.Code.Variable(name)
		if at == 0 {
			return 0, errTLS
		}
		return f.inMemory("", at+8, builtin["unsigned"]).word()
	}
	listAt, err := field("_thread_db_rtld_global__dl_tls_dtv_slotinfo_list")
	rtld := f.stack.Code.Variable("_rtld_global")
	if err != nil || rtld == 0 {
		return 0, errTLS
	}
	offsetAt, err := field("_thread_db_link_map_l_tls_offset")
	if err != nil {
		return 0, err
	}
	// struct dtv_slotinfo_list { size_t len; struct dtv_slotinfo_list *next; struct { size_t gen; struct link_map *map; } slotinfo[]; }
	list, err := word(rtld + listAt)
	for module := uint64(0); err == nil && list != 0 && module < maxModules; {
		var n, next uint64
		if n, err = word(list); err == nil {
			next, err = word(list + 8)
		}
		for i := uint64(0); i < n && module < maxModules && err == nil; i, module = i+1, module+1 {
			var linked, bias uint64
			if linked, err = word(list + 24 + 16*i); err != nil || linked == 0 {
				continue
			}
			if bias, err = word(linked); err == nil && bias == f.at.Bias { // l_addr is its first field
				return f.blockOf(tp, module, list+16+16*i, linked+offsetAt)
			}
		}
		list = next
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errTLS, err)
	}
	return 0, errTLS
}

// blockOf returns the block of a module: at a fixed distance from the thread pointer, or where the thread's table (DTV) says.
func (f *Frame) blockOf(tp, module, slot, fixedAt uint64) (uint64, error) {
	var err error
	word := func(addr uint64) (n uint64) {
		if err == nil {
			n, err = f.inMemory("", addr, wordType).word()
		}
		return n
	}
	fixed := word(fixedAt)
	below := f.stack.Arch == unwind.AMD64
	switch {
	case err != nil:
		return 0, err
	case below && int64(fixed) > 0: // 0: none yet; -1: never
		return tp - fixed, nil
	case !below && int64(fixed) >= 0: // -1: none yet; -2: never
		return tp + fixed, nil
	}
	table := tp
	if below {
		table += 8
	}
	table = word(table)
	generation, length, since := word(table), word(table-16), word(slot)
	if err == nil && (since > generation || module > length) {
		return 0, errUntouched
	}
	block := word(table + 16*module)
	if err == nil && block == ^uint64(0) {
		return 0, errUntouched
	}
	return block, err
}
