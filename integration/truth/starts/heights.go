package starts

import (
	"debug/elf"
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// heights counts instructions by what the model of the stripped file says of them, beside the
// call-frame information of the full one.
type heights struct {
	all, exact, unknown  int
	wrong, wrongByProven int
	other                int // the table computes the CFA, or another register finds it
}

func (h *heights) add(o *heights) {
	h.all, h.exact, h.unknown, h.other = h.all+o.all, h.exact+o.exact, h.unknown+o.unknown, h.other+o.other
	h.wrong, h.wrongByProven = h.wrong+o.wrong, h.wrongByProven+o.wrongByProven
}

func (h heights) String() string {
	return fmt.Sprintf("%d instructions: exact %.3f, unknown %.3f, other %.3f, WRONG %.4f (%d; %d of them proven)", h.all,
		percent(h.exact, h.all), percent(h.unknown, h.all), percent(h.other, h.all), percent(h.wrong, h.all), h.wrong, h.wrongByProven)
}

func frames(f *elf.File) (*cfi.Table, error) {
	s := f.Section(".eh_frame")
	if s == nil {
		return nil, fmt.Errorf("no .eh_frame")
	}
	data, err := s.Data()
	if err != nil {
		return nil, err
	}
	return cfi.New(cfi.Section{Name: s.Name, Addr: s.Addr, Data: data}, cfi.Options{Arch: archOf(f)}), nil
}

func archOf(f *elf.File) unwind.Arch {
	if f.Machine == elf.EM_AARCH64 {
		return unwind.ARM64
	}
	return unwind.AMD64
}

func fdeStarts(f *elf.File) (out []uint64, err error) {
	table, err := frames(f)
	if err != nil {
		return nil, err
	}
	for fde := range table.All() {
		out = append(out, fde.Start)
	}
	return out, nil
}

// compareHeights compares the CFA at every instruction that a table describes.
func compareHeights(f *elf.File, model *codemodel.Image, verbose bool) (h heights, err error) {
	table, err := frames(f)
	if err != nil {
		return h, err
	}
	arch := archOf(f)
	var d prologue.Decoder
	for fde := range table.All() {
		code := codeAt(f, fde.Start, fde.End)
		err := table.Rows(&fde, func(row *cfi.Row) bool {
			want := row.Rule()
			for pc := row.Start; pc < row.End && pc-fde.Start < uint64(len(code)); {
				rest := code[pc-fde.Start:]
				if prologue.Padding(arch, rest) == 0 {
					h.count(model, arch, pc, orPLT(want.CFA, pc), verbose)
				}
				pc += uint64(max(d.For(arch, rest, pc).Len, 1))
			}
			return true
		})
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// orPLT is what the linker's table for procedure linkage tables computes: behind the push of an
// entry of 16 bytes there is a word more.
func orPLT(cfa rule.Value, pc uint64) rule.Value {
	if cfa.From == rule.Register || cfa.From == rule.CFA || pc == 0 {
		return cfa
	}
	if pc&15 >= 11 {
		return rule.In(unwind.AMD64RSP, 16)
	}
	return rule.In(unwind.AMD64RSP, 8)
}

func codeAt(f *elf.File, start, end uint64) []byte {
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && start >= s.Addr && end <= s.Addr+s.Size {
			out := make([]byte, end-start)
			if _, err := s.ReadAt(out, int64(start-s.Addr)); err == nil {
				return out
			}
		}
	}
	return nil
}

func (h *heights) count(model *codemodel.Image, arch unwind.Arch, pc uint64, want rule.Value, verbose bool) {
	h.all++
	fn := model.At(pc)
	if fn == nil {
		h.unknown++
		h.tell(verbose, "in no function", pc, nil)
		return
	}
	p, ok := fn.At(pc)
	cfa := p.Rule.CFA
	plain := want.From == rule.Register && !want.Deref
	switch {
	case !ok || p.Proof == prologue.Unproven:
		h.unknown++
		h.tell(verbose, "unknown", pc, fn)
	case want == cfa, p.Height >= 0 && want == rule.In(arch.SP(), p.Height):
		h.exact++
	case plain && want.Register == arch.SP() && p.Height >= 0, plain && cfa.From == rule.Register && !cfa.Deref && want.Register == cfa.Register:
		h.wrong++
		if p.Proof == prologue.Proven {
			h.wrongByProven++
		}
		h.tell(true, fmt.Sprintf("WRONG (%v): table %v+%d, model %v+%d, height %d", p.Proof, want.Register, want.Offset, cfa.Register, cfa.Offset, p.Height), pc, fn)
	default:
		h.other++
		h.tell(verbose, fmt.Sprintf("other: table %v, model %v, height %d", want, cfa, p.Height), pc, fn)
	}
}

// maxTold bounds the lines of a run.
var maxTold = 40000

func (h *heights) tell(verbose bool, what string, pc uint64, fn *codemodel.Function) {
	if maxTold--; !verbose || maxTold < 0 {
		return
	}
	start := uint64(0)
	if fn != nil {
		start = fn.Start
	}
	fmt.Printf("  %#x in %#x: %s\n", pc, start, what)
}
