package delve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"github.com/clewdbg/clew/internal/testneed"
)

// cfaCases are instructions, and why Delve does not survive them.
var cfaCases = []struct {
	name          string
	initial, code []byte
	want          error
}{
	{"as compilers write them", []byte{0x0c, 7, 8, 0x90, 1}, []byte{0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x44, 0x0b, 0, 0}, nil},
	{"nothing", nil, nil, nil},
	{"a number's end is missing", nil, []byte{0x0e, 0x80}, errCutOff},
	{"in the common entry", []byte{0x0e, 0x80}, nil, errCutOff},
	{"a number is missing, which is 0", nil, []byte{0x0e}, nil},
	{"a byte is missing", nil, []byte{0x02}, errCutOff},
	{"two bytes are missing", nil, []byte{0x03}, nil},
	{"an address in the common entry", []byte{0x03, 1, 1}, nil, errMoves},
	{"no state", nil, []byte{0x0b}, errNoState},
	{"a state of the common entry", []byte{0x0c, 7, 8, 0x0a}, []byte{0x0b}, nil},
	{"that state twice", []byte{0x0c, 7, 8, 0x0a}, []byte{0x0b, 0x0b}, errNoState},
	{"a block longer than the rest", nil, []byte{0x0f, 9, 0x77, 8}, nil},
	{"a block of a negative length", nil, []byte{0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x77}, errBlock},
	{"a register's expression", nil, []byte{0x10, 3, 2, 0x77, 0x78}, nil},
	{"an expression that adds to nothing", nil, []byte{0x16, 3, 2, 0x23, 1}, errExpression},
	{"an expression that is cut off", nil, []byte{0x0f, 2, 0x77, 0x80}, errExpression},
	{"unknown", nil, []byte{0x3e, 0x0b}, nil},
}

// TestCheckPrograms: what is refused is what Delve panics at, and nothing else.
func TestCheckPrograms(t *testing.T) {
	for _, c := range cfaCases {
		entries := call(t, c.initial, c.code)
		if err := checkPrograms(entries); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if panics := panicsAt(entries); panics != (c.want != nil) && !errors.Is(c.want, errExpression) {
			t.Errorf("%s: Delve panics: %v", c.name, panics)
		}
	}
}

// TestManyExpressions: a section that is made of expressions costs no more than some of them.
func TestManyExpressions(t *testing.T) {
	one := append([]byte{0x0f, 0x80, 0x40}, bytes.Repeat([]byte{0x2f, 0xfd, 0xff}, 1<<13)[:1<<13]...) // jumps back
	for name, code := range map[string][]byte{
		"short": bytes.Repeat([]byte{0x0f, 1, 0x77}, maxExpressions+1), "long": bytes.Repeat(one, maxExpressionBytes/(1<<13)+1),
	} {
		begin := time.Now()
		if err := checkPrograms(call(t, nil, code)); !errors.Is(err, errMany) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > testneed.Patience(10*time.Second) {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// FuzzCheckPrograms: Delve executes what is not refused.
func FuzzCheckPrograms(f *testing.F) {
	for _, c := range cfaCases {
		f.Add(c.initial, c.code)
	}
	f.Fuzz(func(t *testing.T, initial, code []byte) {
		if len(initial)+len(code) > 1<<10 {
			return
		}
		if entries := call(t, initial, code); checkPrograms(entries) == nil && panicsAt(entries) {
			t.Errorf("%x, %x", initial, code)
		}
	})
}

// call are the entries of a section that has one of each kind, with these instructions.
func call(t *testing.T, initial, code []byte) frame.FrameDescriptionEntries {
	t.Helper()
	var section []byte
	entry := func(id uint32, head, code []byte) {
		section = binary.LittleEndian.AppendUint32(section, uint32(4+len(head)+len(code)))
		section = append(append(binary.LittleEndian.AppendUint32(section, id), head...), code...)
	}
	entry(^uint32(0), []byte{3, 0, 1, 0x78, 16}, initial)
	var addresses [16]byte
	binary.LittleEndian.PutUint64(addresses[:], 0x1000)
	binary.LittleEndian.PutUint64(addresses[8:], 1<<40)
	entry(0, addresses[:], code)
	entries, err := frame.Parse(bytes.Clone(section), binary.LittleEndian, 0, 8, 0)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	return entries
}

// panicsAt reports whether Delve panics at the instructions, executed to the function's end.
func panicsAt(entries frame.FrameDescriptionEntries) (panics bool) {
	defer func() { panics = recover() != nil }()
	_, _ = entries[0].EstablishFrame(entries[0].End() - 1)
	return false
}
