package location_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

// machine is a frame for expressions: register n holds 0x1000 + n, but for 9, which is unknown; a word of memory at a holds a+1.
type machine struct{}

var errRegister = errors.New("register 9 is not known")

func (machine) Register(n uint64) ([]byte, error) {
	if n == 9 {
		return nil, errRegister
	}
	return binary.LittleEndian.AppendUint64(nil, 0x1000+n), nil
}
func (machine) CFA() (uint64, error)       { return 0x7000, nil }
func (machine) FrameBase() (uint64, error) { return 0x6000, nil }
func (machine) Entry(code []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(code[0])), nil
}
func (machine) Parameter(*dwarfline.Entry) ([]byte, error) { return nil, errors.ErrUnsupported }
func (machine) TLS(off uint64) (uint64, error)             { return 0x9000 + off, nil }
func (machine) ReadMemory(addr uint64, p []byte) error {
	copy(p, binary.LittleEndian.AppendUint64(nil, addr+1))
	return nil
}
func (machine) Object() (uint64, bool)  { return 0x5000, true }
func (machine) Bias() uint64            { return 0x100000 }
func (machine) Order() binary.ByteOrder { return binary.LittleEndian }
func (machine) Types() *types.Set       { return types.NewSet() }
func (machine) ByLLVM() bool            { return false }
func (machine) OnStack(reg uint64) bool { return reg == 7 }

// unit is one of 64 bits without other entries.
type unit struct{}

func (unit) Sizes() (version, address, offset int)      { return 5, 8, 4 }
func (unit) AddressAt(uint64) (uint64, error)           { return 0, errors.ErrUnsupported }
func (unit) InUnit(uint64) (*dwarfline.Entry, error)    { return nil, errors.ErrUnsupported }
func (unit) InSection(uint64) (*dwarfline.Entry, error) { return nil, errors.ErrUnsupported }

// text writes a place.
func text(l location.Location) string {
	var out []string
	for _, p := range l.Pieces {
		s := map[location.Kind]string{location.Optimized: "none", location.Memory: fmt.Sprintf("[%#x]", p.Addr), location.Register: fmt.Sprintf("r%d", p.Reg),
			location.Bytes: fmt.Sprintf("%x", p.Data), location.Implied: "implied"}[p.Kind]
		if p.Bits > 0 {
			s += fmt.Sprintf(":%d", p.Bits)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestEvaluate: each expression leads where DWARF 5, sections 2.5 and 2.6, says; the operations are written as bytes.
func TestEvaluate(t *testing.T) {
	for name, tt := range map[string]struct {
		code []byte
		want string
		err  string
	}{
		"nothing":                   {nil, "none", ""},
		"frame base":                {[]byte{0x91, 0x68}, "[0x5fe8]", ""},                     // fbreg -24
		"CFA":                       {[]byte{0x9c, 0x11, 0x70, 0x22}, "[0x6ff0]", ""},         // call_frame_cfa, consts -16, plus
		"register":                  {[]byte{0x53}, "r3", ""},                                 // reg3
		"register's memory":         {[]byte{0x73, 0x08}, "[0x100b]", ""},                     // breg3 8
		"unknown register":          {[]byte{0x79, 0x00}, "", "register 9"},                   // breg9 0
		"value":                     {[]byte{0x35, 0x9f}, "0500000000000000", ""},             // lit5, stack_value
		"dereference":               {[]byte{0x73, 0x00, 0x06, 0x9f}, "0410000000000000", ""}, // breg3 0, deref, stack_value
		"implicit value":            {[]byte{0x9e, 0x02, 0xaa, 0xbb}, "aabb", ""},
		"pieces":                    {[]byte{0x53, 0x93, 0x04, 0x93, 0x04, 0x30, 0x9f, 0x93, 0x08}, "r3:32 none:32 0000000000000000:64", ""},
		"bits":                      {[]byte{0x53, 0x9d, 0x03, 0x01}, "r3:3", ""},
		"what was passed":           {[]byte{0xa3, 0x01, 0x55, 0x9f}, "5500000000000000", ""}, // entry_value(reg5), stack_value
		"the same before DWARF 5":   {[]byte{0xf3, 0x01, 0x55, 0x9f}, "5500000000000000", ""},
		"TLS":                       {[]byte{0x0e, 8, 0, 0, 0, 0, 0, 0, 0, 0x9b}, "[0x9008]", ""},
		"object":                    {[]byte{0x97, 0x23, 0x08}, "[0x5008]", ""},
		"signed division":           {[]byte{0x11, 0x79, 0x32, 0x1b, 0x9f}, "fdffffffffffffff", ""},             // -7 / 2
		"comparison":                {[]byte{0x11, 0x79, 0x32, 0x2d, 0x9f}, "0100000000000000", ""},             // -7 < 2
		"branch":                    {[]byte{0x31, 0x28, 0x01, 0x00, 0x32, 0x33, 0x9f}, "0300000000000000", ""}, // lit1, bra +1, lit2, lit3, stack_value
		"a spill":                   {[]byte{0x77, 0x38, 0xa8, 0x00, 0x9f}, "", "fault of the compiler"},        // breg7 56, convert, stack_value
		"a spill, before DWARF 5":   {[]byte{0x91, 0x38, 0x08, 0xff, 0x1a, 0x9f}, "", "fault of the compiler"},  // fbreg 56, const1u 255, and, stack_value
		"an address":                {[]byte{0x91, 0x08, 0x23, 0x08, 0x9f}, "1060000000000000", ""},             // fbreg 8, plus_uconst 8, stack_value
		"division by 0":             {[]byte{0x31, 0x30, 0x1b}, "", "division by 0"},
		"empty stack":               {[]byte{0x22}, "", "stack is empty"},
		"cut off":                   {[]byte{0x9e, 0x7f}, "", "breaks off"},
		"an unknown operation":      {[]byte{0x01}, "", "not supported"},
		"no end":                    {[]byte{0x2f, 0xfd, 0xff}, "", "operations"}, // skip -3
		"a jump out":                {[]byte{0x2f, 0x10, 0x00}, "", "jumps out"},
		"a piece as large as 2^60":  {[]byte{0x53, 0x93, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10}, "", "a piece of"},
		"implicit value of 2^36":    {[]byte{0x9e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, "", "breaks off"},
		"a place behind the pieces": {[]byte{0x53, 0x93, 0x04, 0x53}, "", "a place behind"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := location.Evaluate(machine{}, unit{}, tt.code)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%s, %v, want %q", text(got), err, tt.err)
				}
				return
			}
			if err != nil || text(got) != tt.want {
				t.Errorf("%s, %v, want %s", text(got), err, tt.want)
			}
		})
	}
}

// FuzzEvaluate: no expression makes it panic, or go on without end.
func FuzzEvaluate(f *testing.F) {
	f.Add([]byte{0x73, 0x00, 0x06, 0x9f})
	f.Add([]byte{0x53, 0x93, 0x04, 0x93, 0x04, 0x30, 0x9f, 0x93, 0x08})
	f.Fuzz(func(_ *testing.T, code []byte) {
		_, _ = location.Evaluate(machine{}, unit{}, code)
	})
}
