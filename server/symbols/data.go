package symbols

import (
	"debug/elf"

	"github.com/clewdbg/clew/internal/elffile"
)

// Data returns the link-time address of the variable with that name, in the file's own
// tables of symbols. Only ELF is looked into.
func (f *File) Data(name string) (vaddr uint64, ok bool) {
	ef, isELF := f.object.(*elfFile)
	if !isELF {
		return 0, false
	}
	f.dataOnce.Do(func() { f.data = readData(ef.File) })
	vaddr, ok = f.data[name]
	return vaddr, ok
}

// wanted are the variables that anyone asks for: a file may have very many.
var wanted = map[string]bool{
	"__jit_debug_descriptor": true, "runtime.allglen": true, "runtime.allgptr": true, "runtime.allm": true, "runtime.allp": true,
	"runtime.gomaxprocs": true, "runtime.gcphase": true, "runtime.memstats": true, "runtime.waitReasonStrings": true,
	"_rtld_global": true, "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list": true, "_thread_db_link_map_l_tls_offset": true,
	"__abort_msg": true, "runtime.printBacklog": true, "runtime.printBacklogIndex": true,
}

func readData(f *elf.File) map[string]uint64 {
	out := make(map[string]uint64)
	for _, kind := range []elf.SectionType{elf.SHT_DYNSYM, elf.SHT_SYMTAB} {
		for _, s := range elffile.Symbols(f, kind) {
			if len(out) == len(wanted) {
				return out
			}
			if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF && wanted[s.Name] {
				out[s.Name] = s.Value
			}
		}
	}
	return out
}

// Contents returns up to n bytes of what the file has of loaded memory that the program cannot write to, from vaddr on. Only ELF is looked
// into.
func (f *File) Contents(vaddr uint64, n int) []byte {
	ef, isELF := f.object.(*elfFile)
	if !isELF {
		return nil
	}
	if p, _ := segmentAt(ef.File, elf.PF_R, vaddr); p == nil || p.Flags&elf.PF_W != 0 {
		return nil
	}
	return readSegment(ef.File, elf.PF_R, vaddr, uint64(max(n, 0)))
}

// TLS is a file's thread-local storage: its size and alignment, and the address in the file of what it begins with.
type TLS struct{ Size, Align, Addr uint64 }

// TLS returns the file's thread-local storage. Only ELF is looked into.
func (f *File) TLS() (t TLS, ok bool) {
	ef, isELF := f.object.(*elfFile)
	if !isELF {
		return t, false
	}
	for _, p := range ef.Progs {
		if p.Type == elf.PT_TLS && p.Align <= 1<<20 {
			return TLS{p.Memsz, max(p.Align, 1), p.Vaddr}, true
		}
	}
	return t, false
}
