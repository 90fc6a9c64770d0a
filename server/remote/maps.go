package remote

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// mapped are the mappings of a process, as long as it has the same libraries.
type mapped struct {
	pid       int
	libraries []api.Image
	text      []byte
}

// mappings returns a remote program's mappings in the form of /proc/PID/maps. They
// are made of the ELF headers in memory, so only the segments of the executable and
// its libraries are there: heaps, stacks and code without a file are missing.
// Devices are 0, and inodes are made up.
func (p *Program) mappings() ([]byte, error) {
	libraries, _, err := p.client.ListDynamicLibraries()
	if err != nil {
		return nil, fmt.Errorf("list libraries: %w", err)
	}
	if m := p.mapped; m != nil && m.pid == p.pid && slices.Equal(m.libraries, libraries) {
		return m.text, nil
	}
	main, err := p.executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable in memory: %w", err)
	}
	images := []image{main}
	for _, l := range libraries {
		if img, err := imageWithBias(examined{p.client}, l.Path, l.Address); err == nil && l.Address != main.base {
			images = append(images, img)
		} // else the library is not at the server's address
	}
	kernels, started, ok := p.vdso()
	if ok {
		images = append(images, kernels)
	}
	slices.SortFunc(images, func(a, b image) int { return cmp.Compare(a.base, b.base) })
	var text []byte
	end := uint64(0)
	for i := range images {
		inode := i + 1
		if images[i].path == vdsoPath {
			inode = 0
		}
		text, end = images[i].lines(text, inode, end)
	}
	if started {
		p.mapped = &mapped{p.pid, libraries, text}
	}
	return text, nil
}

// original is memory that files are mapped to, without breakpoints. [Program.Still]
// does not read it again.
type original struct{ p *Program }

// ReadMemory implements [unwind.Memory].
func (m original) ReadMemory(addr uint64, p []byte) error {
	if err := (examined{m.p.client}).ReadMemory(addr, p); err != nil {
		return err
	}
	m.p.overlay(addr, p)
	return nil
}

// image is an ELF image in memory.
type image struct {
	path  string
	base  uint64 // of its header
	bias  uint64
	loads []*elf.Prog
}

// maxTextStart bounds the distance from the executable's header to its code, in bytes.
const maxTextStart = 64 << 20

// executable finds the program's image: its header lies before the code of Go's
// runtime.
func (p *Program) executable() (image, error) {
	v, err := p.variable("runtime.firstmoduledata.text", api.LoadConfig{})
	if err != nil {
		return image{}, err
	}
	text, err := strconv.ParseUint(v.Value, 0, 64)
	if err != nil {
		return image{}, fmt.Errorf("runtime.firstmoduledata.text is %q", v.Value)
	}
	name := "program"
	if targets, err := p.client.ListTargets(); err == nil {
		for _, t := range targets {
			if path, _, _ := strings.Cut(t.CmdLine, " "); t.Pid == p.pid && path != "" {
				name = path
			}
		}
	}
	return imageBefore(examined{p.client}, name, text)
}

// imageBefore finds the image that has code at text: it searches ELF headers at the
// pages before, many pages in one read where that is possible.
func imageBefore(memory unwind.Memory, name string, text uint64) (image, error) {
	block := make([]byte, rpc2.ExamineMemoryLengthLimit)
	for at, lowest := text&^(pageSize-1), text-min(text, maxTextStart); at >= pageSize && at >= lowest; {
		n := min(uint64(len(block)), at)
		if memory.ReadMemory(at+pageSize-n, block[:n]) != nil {
			if n = pageSize; memory.ReadMemory(at, block[:n]) != nil {
				break
			}
		}
		for ; n > 0; n, at = n-pageSize, at-pageSize {
			if !bytes.HasPrefix(block[n-pageSize:n], []byte(elf.ELFMAG)) {
				continue
			}
			if img, err := imageAt(memory, name, at); err == nil && img.runs(text) {
				return img, nil
			}
		}
	}
	return image{}, fmt.Errorf("no ELF header lies before %#x", text)
}

// imageWithBias reads the header of a library whose load bias is known.
func imageWithBias(memory unwind.Memory, path string, bias uint64) (image, error) {
	img, err := imageAt(memory, path, bias)
	if err == nil && img.bias != bias {
		err = fmt.Errorf("%s is loaded with the bias %#x, and not %#x", path, img.bias, bias)
	}
	return img, err
}

// imageAt reads the header at an address.
func imageAt(memory unwind.Memory, path string, base uint64) (image, error) {
	img := image{path: path, base: base}
	invalid := func(what string) error { return fmt.Errorf("%s at %#x: invalid %s", path, base, what) }
	if strings.ContainsAny(path, "\n") || path == "" {
		return img, invalid("path")
	}
	headers, err := symbols.LoadedHeaders(unwind.ReaderAt{Memory: memory}, base)
	if err != nil {
		return img, fmt.Errorf("%s at %#x: %w", path, base, err)
	}
	if headers.ByteOrder != binary.LittleEndian {
		return img, invalid("ELF header")
	}
	var ok bool
	if img.loads, ok = loadSegments(headers.Progs); !ok {
		return img, invalid("segments")
	}
	img.bias = base - img.loads[0].Vaddr
	return img, nil
}

// loadSegments returns the loaded segments. They are valid if they are in order, and
// the first one has the header.
func loadSegments(programs []*elf.Prog) (loads []*elf.Prog, ok bool) {
	last := uint64(0)
	for _, p := range programs {
		if p.Type != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		end := p.Vaddr + p.Memsz
		if end < p.Vaddr || end+pageSize < end || p.Filesz > p.Memsz || p.Vaddr < last {
			return nil, false
		}
		loads, last = append(loads, p), p.Vaddr
	}
	return loads, len(loads) > 0 && loads[0].Off == 0
}

// runs reports whether an address is in the image's code.
func (i *image) runs(addr uint64) bool {
	for _, p := range i.loads {
		if start := i.bias + p.Vaddr; p.Flags&elf.PF_X != 0 && addr >= start && addr-start < p.Memsz {
			return true
		}
	}
	return false
}

// lines writes the mappings of the image as the system does, from after on: the pages
// of each segment, then those of its rest without a file.
func (i *image) lines(text []byte, inode int, after uint64) ([]byte, uint64) {
	up := func(addr uint64) uint64 { return (addr + pageSize - 1) &^ (pageSize - 1) }
	for _, p := range i.loads {
		perm := procfs.Permissions(p.Flags)
		start := max((i.bias+p.Vaddr)&^(pageSize-1), after)
		filled, end := up(i.bias+p.Vaddr+p.Filesz), up(i.bias+p.Vaddr+p.Memsz)
		if p.Filesz > 0 && start < filled {
			offset := p.Off - (i.bias + p.Vaddr - start)
			text = fmt.Appendf(text, "%08x-%08x %s %08x 00:00 %d %s\n", start, filled, perm, offset, inode, i.path)
			start, after = filled, filled
		}
		if start < end {
			text = fmt.Appendf(text, "%08x-%08x %s 00000000 00:00 0\n", start, end, perm)
			after = end
		}
	}
	return text, after
}
