package program

import (
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/unwind"
)

// NoTables are the compiler's options for C code without call-frame information. One is
// not enough: on arm64 gcc has -funwind-tables as a default of its own.
const NoTables = "-fno-asynchronous-unwind-tables -fno-unwind-tables"

// Tableless says that the native code is to have no .eh_frame.
func (v Variant) Tableless() bool { return strings.Contains(v.CFlags, NoTables) }

// CheckTableless returns an error if images have call-frame information for functions of a
// C source that was built with these flags, or for cgo's. The C library's startup code in the same
// images has its own.
func CheckTableless(tools Tools, cflags, source string, images ...string) error {
	object := source + ".o"
	if err := command(exec.Command(tools.CC, append(strings.Fields(cflags), "-fPIC", "-c", "-o", object, source)...)); err != nil {
		return err
	}
	native, err := functionsOf(object)
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, f := range native {
		names[f.Name] = true
	}
	for _, image := range images {
		if err := checkImage(image, names, strings.Contains(cflags, "-g0")); err != nil {
			return fmt.Errorf("%s, built with %s: %w", image, cflags, err)
		}
	}
	return nil
}

// functionsOf lists the functions that a file defines; those that are exported if it is stripped.
func functionsOf(name string) ([]elf.Symbol, error) {
	f, err := elf.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		symbols, err = f.DynamicSymbols()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF
	}), nil
}

var errNoFunctions = errors.New("has none of the native functions: nothing was checked")

// checkImage looks up the functions, and cgo's in C, in the call-frame information of an
// image: in .eh_frame, and where there is to be no debug information in .debug_frame.
func checkImage(image string, names map[string]bool, debug bool) error {
	f, err := elf.Open(image)
	if err != nil {
		return err
	}
	defer f.Close()
	functions, err := functionsOf(image)
	if err != nil {
		return err
	}
	functions = slices.DeleteFunc(functions, func(s elf.Symbol) bool {
		return !names[s.Name] && !strings.HasPrefix(s.Name, "_cgo_")
	})
	if len(functions) == 0 {
		return errNoFunctions
	}
	arch, ok := map[elf.Machine]unwind.Arch{elf.EM_X86_64: unwind.AMD64, elf.EM_AARCH64: unwind.ARM64}[f.Machine]
	if !ok {
		return fmt.Errorf("machine %v", f.Machine)
	}
	for section, kind := range map[string]cfi.Kind{".eh_frame": cfi.EHFrame, ".debug_frame": cfi.DebugFrame} {
		s := f.Section(section)
		if s == nil || kind == cfi.DebugFrame && !debug {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		table := cfi.New(cfi.Section{Name: section, Kind: kind, Addr: s.Addr, Data: data}, cfi.Options{Arch: arch})
		for _, fn := range functions {
			if _, has := table.Find(fn.Value); has && (kind == cfi.EHFrame || names[fn.Name]) { // Go's own functions are in .debug_frame
				return fmt.Errorf("%s describes %s", section, fn.Name)
			}
		}
	}
	return nil
}
