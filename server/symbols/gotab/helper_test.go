package gotab_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
)

// toolchains are the Go versions to build with: the one in use, and those named
// in CLEW_GO_TOOLCHAINS (space-separated, such as "go1.20.14 go1.25.4").
func toolchains() []string {
	return append([]string{""}, strings.Fields(os.Getenv("CLEW_GO_TOOLCHAINS"))...)
}

// eachProgram runs a test on every program of testprog.Builds.
func eachProgram(t *testing.T, test func(t *testing.T, b testprog.Build, f *elf.File, pclntab placed)) {
	for _, version := range toolchains() {
		for _, b := range testprog.Builds() {
			if version != "" {
				b.Env = append(b.Env, "GOTOOLCHAIN="+version)
			}
			t.Run(b.Name+version, func(t *testing.T) {
				t.Parallel()
				f, err := elf.Open(b.Make(t))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				test(t, b, f, findTable(t, f))
			})
		}
	}
}

// A placed table is a pclntab and the address where it lies.
type placed struct {
	addr uint64
	data []byte
}

// findTable finds the table by its section, or where the C linker has put it.
func findTable(t *testing.T, f *elf.File) placed {
	t.Helper()
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"} {
		if s := f.Section(name); s != nil {
			data := contents(t, s)
			if table, at := gotab.Find(data, 0, f.ByteOrder); table != nil {
				return placed{s.Addr + uint64(at), data[at:]}
			}
		}
	}
	t.Fatal("no table")
	return placed{}
}

func contents(t *testing.T, s *elf.Section) []byte {
	t.Helper()
	if s == nil {
		t.Fatal("section is missing")
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func symbol(f *elf.File, name string) uint64 {
	syms, _ := f.Symbols()
	for _, s := range syms {
		if s.Name == name {
			return s.Value
		}
	}
	return 0
}

// relocated returns every writable data section with its relative relocations
// applied, as the dynamic loader does it on amd64.
func relocated(t *testing.T, f *elf.File) map[*elf.Section][]byte {
	out := map[*elf.Section][]byte{}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_WRITE != 0 {
			out[s] = slices.Clone(contents(t, s))
		}
	}
	rela := f.Section(".rela.dyn")
	if rela == nil {
		rela = f.Section(".rela")
	}
	if rela == nil {
		return out
	}
	for r := contents(t, rela); len(r) >= 24; r = r[24:] {
		at, info, addend := binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint64(r[8:]), binary.LittleEndian.Uint64(r[16:])
		if elf.R_X86_64(info) != elf.R_X86_64_RELATIVE {
			continue
		}
		for s, data := range out {
			if at >= s.Addr && at+8 <= s.Addr+s.Size {
				binary.LittleEndian.PutUint64(data[at-s.Addr:], addend)
			}
		}
	}
	return out
}

// textOf finds runtime.text and go:func.* through the moduledata alone.
func textOf(t *testing.T, f *elf.File, pclntab placed) (*gotab.Table, gotab.Module) {
	t.Helper()
	table, err := gotab.Parse(pclntab.data, 0, f.ByteOrder)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range relocated(t, f) {
		if m, _, ok := table.FindModule(data, pclntab.addr); ok {
			if table, err = table.WithTextStart(m.Text); err != nil {
				t.Fatal(err)
			}
			return table, m
		}
	}
	t.Fatal("no moduledata")
	return nil, gotab.Module{}
}

// needAMD64 asks for the platform whose relocations and CFI the tests read.
func needAMD64(t *testing.T) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
}
