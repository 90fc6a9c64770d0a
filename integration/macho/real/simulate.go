package real

import (
	"debug/macho"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// maxSimulated is the longest function that is simulated, in bytes: each call in
// it takes time in proportion to all of it.
const maxSimulated = 8 << 10

// simulate decodes every encoding, and compares the rules that frames in the
// middle of the stack have, behind calls, with a simulation of the code.
func (im *image) simulate(r *result, t *table.Table) error {
	text, at, err := im.section("__text")
	if err != nil || text == nil {
		return err
	}
	for e := range t.All() {
		rule, err := e.Encoding.Decode(im.arch, func(offset uint32, n int) []byte {
			from := uint64(e.Start) + uint64(offset) - at
			if from > uint64(len(text)) {
				return nil
			}
			return text[from:min(from+uint64(n), uint64(len(text)))]
		})
		if err != nil {
			r.refused++
			r.problem("at %#x: %v", e.Start, err)
			continue
		}
		if rule.Kind != table.Steps || uint64(e.Start) < at || uint64(e.End)-at > uint64(len(text)) {
			continue
		}
		encoded := rule.Rule
		for _, f := range im.functions(e) {
			code := text[uint64(f[0])-at : uint64(f[1])-at]
			for _, ra := range im.calls(code, uint64(f[0])) {
				r.calls++
				if len(code) > maxSimulated {
					r.unknown++
					continue
				}
				row, _ := simulate.At(im.arch, simulate.Stopped, code, uint64(f[0]), ra)
				switch {
				case row == nil || !row.Sure:
					r.unknown++
				case encoded.Equal(&row.Rule):
					r.same++
				default:
					r.other++
					r.problem("behind the call before %#x: encoding %#x, code %s", ra, uint32(e.Encoding), row)
				}
			}
		}
	}
	return nil
}

// functions returns the functions that lie in an entry's code, by the symbols and
// LC_FUNCTION_STARTS: neighbours with one encoding share an entry.
func (im *image) functions(e table.Entry) (list [][2]uint32) {
	begin := e.Start
	for _, s := range im.starts() {
		if s > begin && s < e.End {
			list = append(list, [2]uint32{begin, s})
			begin = s
		}
	}
	return append(list, [2]uint32{begin, e.End})
}

// starts decodes LC_FUNCTION_STARTS.
func (im *image) starts() (starts []uint32) {
	const functionStarts = 0x26
	order := im.file.ByteOrder
	for _, load := range im.file.Loads {
		raw := load.Raw()
		if _, ok := load.(macho.LoadBytes); !ok || order.Uint32(raw) != functionStarts || len(raw) < 16 {
			continue
		}
		off, size := uint64(order.Uint32(raw[8:])), uint64(order.Uint32(raw[12:]))
		if off+size > uint64(len(im.data)) {
			return nil
		}
		var at, value uint64
		shift := 0
		for _, b := range im.data[off : off+size] {
			value |= uint64(b&0x7f) << shift
			if shift += 7; b&0x80 == 0 {
				if value == 0 {
					break
				}
				at += value
				starts = append(starts, uint32(at))
				value, shift = 0, 0
			}
		}
	}
	return starts
}

// calls returns the return addresses of the calls in a function.
func (im *image) calls(code []byte, start uint64) (list []uint64) {
	var d prologue.Decoder
	for off := 0; off < len(code); {
		addr := start + uint64(off)
		in := d.AMD64(code[off:min(off+16, len(code))], addr)
		if im.arch == unwind.ARM64 {
			in = d.ARM64(code[off:min(off+4, len(code))], addr)
		}
		off += max(in.Len, 1)
		if (in.Flow == prologue.FlowCall || in.Flow == prologue.FlowCallIndirect) && off < len(code) {
			list = append(list, start+uint64(off))
		}
	}
	return list
}
