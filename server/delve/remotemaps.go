package delve

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/unwind"
)

// mapped is what was found out about where a program's images are.
type mapped struct {
	pid       int
	libraries []api.Image
	text      []byte
}

// Mappings gives what a program has mapped, as far as a server tells that is on
// another machine, in the form of /proc/PID/maps: the segments of the executable
// and of its libraries, by the ELF headers in memory. Heaps, stacks and code without
// a file are missing. Devices are 0, and inodes numbers of our own.
func (r *Remote) Mappings() ([]byte, error) {
	libraries, _, err := r.client.ListDynamicLibraries()
	if err != nil {
		return nil, &RemoteError{"list libraries", err}
	}
	if m := r.mapped; m != nil && m.pid == r.pid && slices.Equal(m.libraries, libraries) {
		return m.text, nil
	}
	main, err := r.executable()
	if err != nil {
		return nil, &RemoteError{"find the executable in memory", err}
	}
	images := []remoteImage{main}
	for _, l := range libraries {
		if img, err := r.image(l.Path, l.Address); err == nil && l.Address != main.base {
			images = append(images, img)
		} // else the server has it elsewhere than it is, or only believes that it is there
	}
	slices.SortFunc(images, func(a, b remoteImage) int {
		if a.base < b.base {
			return -1
		}
		return 1
	})
	var text []byte
	end := uint64(0)
	for i := range images {
		text, end = images[i].lines(text, i+1, end)
	}
	r.mapped = &mapped{r.pid, libraries, text}
	return text, nil
}

// FileMemory reads what is in memory of the program's files, as they are without
// breakpoints. [Remote.Still] does not ask for it again.
func (r *Remote) FileMemory() unwind.Memory { return original{r} }

type original struct{ r *Remote }

// ReadMemory implements [unwind.Memory].
func (m original) ReadMemory(addr uint64, p []byte) error {
	if err := (examined{m.r.client}).ReadMemory(addr, p); err != nil {
		return err
	}
	m.r.overlay(addr, p)
	return nil
}

// remoteImage is an ELF image in memory.
type remoteImage struct {
	path  string
	base  uint64 // of its header
	bias  uint64
	loads []elf.Prog64
}

// Bounds on what a header can claim, and on how far before its code the
// executable's is looked for, in bytes.
const (
	maxPrograms  = 128
	maxTextStart = 64 << 20
)

// executable finds the program's own image: its header lies before the code of
// Go's runtime.
func (r *Remote) executable() (remoteImage, error) {
	v, err := r.client.EvalVariable(api.EvalScope{GoroutineID: -1}, "runtime.firstmoduledata.text", api.LoadConfig{})
	if err != nil {
		return remoteImage{}, err
	}
	text, err := strconv.ParseUint(v.Value, 0, 64)
	if err != nil {
		return remoteImage{}, fmt.Errorf("runtime.firstmoduledata.text is %q", v.Value)
	}
	name := "program"
	if targets, err := r.client.ListTargets(); err == nil {
		for _, t := range targets {
			if path, _, _ := strings.Cut(t.CmdLine, " "); t.Pid == r.pid && path != "" {
				name = path
			}
		}
	}
	memory := examined{r.client}
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
			if img, err := r.imageAt(name, at); err == nil && img.runs(text) {
				return img, nil
			}
		}
	}
	return remoteImage{}, fmt.Errorf("no ELF header lies before %#x", text)
}

// image reads the header of a library whose load bias is known.
func (r *Remote) image(path string, bias uint64) (remoteImage, error) {
	img, err := r.imageAt(path, bias)
	if err == nil && img.bias != bias {
		err = fmt.Errorf("%s is loaded with the bias %#x, and not %#x", path, img.bias, bias)
	}
	return img, err
}

// imageAt reads the header at an address.
func (r *Remote) imageAt(path string, base uint64) (remoteImage, error) {
	img := remoteImage{path: path, base: base}
	wrong := func(what string) error { return fmt.Errorf("%s at %#x: %s", path, base, what) }
	var header elf.Header64
	if err := r.readStruct(base, &header); err != nil {
		return img, err
	}
	switch {
	case !bytes.HasPrefix(header.Ident[:], []byte(elf.ELFMAG)) || elf.Class(header.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(header.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return img, wrong("no ELF header of 64 bits")
	case int(header.Phentsize) != binary.Size(elf.Prog64{}) || header.Phnum == 0 || header.Phnum > maxPrograms:
		return img, wrong("its program headers make no sense")
	case strings.ContainsAny(path, "\n") || path == "":
		return img, wrong("the path makes no sense")
	}
	programs := make([]elf.Prog64, header.Phnum)
	if err := r.readStruct(base+header.Phoff, programs); err != nil {
		return img, err
	}
	for _, p := range programs {
		if elf.ProgType(p.Type) != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		if p.Vaddr+p.Memsz+pageSize < p.Vaddr || p.Filesz > p.Memsz || len(img.loads) > 0 && p.Vaddr < img.loads[len(img.loads)-1].Vaddr {
			return img, wrong("its segments make no sense")
		}
		img.loads = append(img.loads, p)
	}
	if len(img.loads) == 0 || img.loads[0].Off != 0 {
		return img, wrong("its header is in no segment")
	}
	img.bias = base - img.loads[0].Vaddr
	return img, nil
}

func (r *Remote) readStruct(addr uint64, v any) error {
	raw := make([]byte, binary.Size(v))
	if err := (examined{r.client}).ReadMemory(addr, raw); err != nil {
		return err
	}
	return binary.Read(bytes.NewReader(raw), binary.LittleEndian, v)
}

// runs says that there is code of the image's at an address.
func (i *remoteImage) runs(addr uint64) bool {
	for _, p := range i.loads {
		if start := i.bias + p.Vaddr; elf.ProgFlag(p.Flags)&elf.PF_X != 0 && addr >= start && addr-start < p.Memsz {
			return true
		}
	}
	return false
}

// lines writes the mappings of the image as the system does, from after on: each
// segment's pages, and behind them those of the rest that is no file's.
func (i *remoteImage) lines(text []byte, inode int, after uint64) ([]byte, uint64) {
	up := func(addr uint64) uint64 { return (addr + pageSize - 1) &^ (pageSize - 1) }
	for _, p := range i.loads {
		flags := elf.ProgFlag(p.Flags)
		perm := []byte("---p")
		for n, f := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
			if flags&f != 0 {
				perm[n] = "rwx"[n]
			}
		}
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
