package sframe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
)

// TestOpen reads a real program by its section, and again without section
// headers by its segment: the same functions, but for .plt.got, whose code
// cannot be told from another's then.
func TestOpen(t *testing.T) {
	data, err := sframetest.Read("testdata/amd64-v3O2.gz")
	if err != nil {
		t.Fatal(err)
	}
	open := func(data []byte, bias uint64) *sframe.Table {
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		table, err := sframetest.Open(f, bias)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	const bias = 0x5555_0000_0000
	whole := open(data, bias)
	if _, n := whole.Problems(); n > 0 || whole.Len() < 20 {
		t.Fatalf("%d functions, %d problems", whole.Len(), n)
	}
	bare := bytes.Clone(data)
	binary.LittleEndian.PutUint64(bare[0x28:], 0) // e_shoff
	binary.LittleEndian.PutUint32(bare[0x3c:], 0) // e_shnum, e_shstrndx
	segment := open(bare, bias)
	first, n := segment.Problems()
	if n != 1 || !strings.Contains(first[0].Error(), "PT_GNU_SFRAME") || !strings.Contains(first[0].Reason, ".plt.got") {
		t.Errorf("%d problems: %v", n, first)
	}
	if segment.Len() != whole.Len()-1 {
		t.Errorf("%d functions without section headers, %d with them", segment.Len(), whole.Len())
	}
	for f := range segment.All() {
		if g, ok := whole.Find(f.Start); !ok || f != g || f.Start < bias {
			t.Errorf("%+v, with section headers %+v", f, g)
		}
	}
}
