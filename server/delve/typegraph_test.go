package delve

import (
	"debug/dwarf"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// typed are the abbreviations of the types that the tests write, in order of their codes.
var typed = []byte{
	1, 0x11, 1, 0x10, 0x17, 0, 0, // compile_unit with children: stmt_list sec_offset
	2, 0x0f, 0, 0x49, 0x13, 0, 0, // pointer_type: type ref4
	3, 0x13, 1, 0, 0, // structure_type with children
	4, 0x0d, 0, 0x49, 0x13, 0, 0, // member: type ref4
	5, 0x24, 0, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0, // base_type: encoding data1, byte_size data1
	6, 0x15, 1, 0, 0, // subroutine_type with children
	7, 0x05, 0, 0x49, 0x13, 0, 0, // formal_parameter: type ref4
	8, 0x01, 1, 0x49, 0x13, 0, 0, // array_type with children: type ref4
	9, 0x21, 0, 0x37, 0x0b, 0, 0, // subrange_type: count data1
	10, 0x16, 0, 0x80, 0x52, 0x0b, 0x82, 0x52, 0x13, 0, 0, // typedef: Go's kind data1, element ref4
	11, 0x13, 1, 0x03, 0x08, 0, 0, // structure_type with children: name string
	12, 0x34, 0, 0x49, 0x13, 0, 0, // variable: type ref4
	13, 0x26, 0, 0x49, 0x13, 0, 0, // const_type: type ref4
	14, 0x0f, 0, 0x49, 0x10, 0, 0, // pointer_type: type ref_addr
	0,
}

const firstType = 11 + 5 // where the types begin in the unit

// dwarfTypes are entries that are written one behind the other.
type dwarfTypes []byte

func (e *dwarfTypes) at() int { return firstType + len(*e) }

// add adds an entry, with a reference for each further number.
func (e *dwarfTypes) add(code byte, to ...int) {
	*e = append(*e, code)
	for _, at := range to {
		*e = binary.LittleEndian.AppendUint32(*e, uint32(at))
	}
}

// chained has so many types, each of which consists of the next one.
func chained(number int, one func(e *dwarfTypes, next int)) (e dwarfTypes) {
	for range number {
		var again dwarfTypes
		one(&again, 0)
		one(&e, e.at()+len(again))
	}
	return append(e, 5, 5, 8) // int
}

func (e dwarfTypes) unit() []byte {
	entries := join([]byte{1, 0, 0, 0, 0}, e, []byte{0})
	return join(binary.LittleEndian.AppendUint32(nil, uint32(7+len(entries))), []byte{4, 0, 0, 0, 0, 0, 8}, entries)
}

func pointers(e *dwarfTypes, next int) { e.add(2, next) }

func namedStructs(e *dwarfTypes, next int) {
	*e = append(*e, 11, 's', 0)
	e.add(4, e.at()+5+1)
	*e = append(*e, 0)
	e.add(2, next)
}

func functions(e *dwarfTypes, next int) {
	e.add(6)
	e.add(7, next)
	e.add(7, next)
	*e = append(*e, 0)
}

func arrays(e *dwarfTypes, next int) {
	e.add(8, next)
	*e = append(*e, 9, 2, 0)
}

// namedArrays have a struct between them, which ends no size.
func namedArrays(e *dwarfTypes, next int) {
	e.add(8, e.at()+5+3)
	*e = append(*e, 9, 2, 0)
	*e = append(*e, 11, 's', 0)
	e.add(4, next)
	*e = append(*e, 0)
}

// TestTypes: types of which Delve's recursion overflows its stack, whose names or sizes have no end, or that lie in the
// middle of another entry are refused; such as compilers write are not.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		name, want string
		entries    dwarfTypes
	}{
		{"struct with a pointer to itself", "", chain(func(e *dwarfTypes) {
			*e = append(*e, 11, 's', 0)
			e.add(4, firstType+9)
			*e = append(*e, 0)
			e.add(2, firstType)
		})},
		{"struct whose first member is one of itself", "", chain(func(e *dwarfTypes) { // a static member of C++, in DWARF 4
			*e = append(*e, 11, 's', 0)
			e.add(4, firstType+9)
			*e = append(*e, 0)
			e.add(13, firstType)
		})},
		{"structs", "", chained(90_000, namedStructs)},
		{"structs, too deep", "nested too deep", chained(110_000, namedStructs)},
		{"pointers", "", chained(maxNameDepth/2, pointers)},
		{"pointers, too deep", "too long", chained(10_000, pointers)},
		{"functions", "", chained(10, functions)},
		{"functions of functions", "too long", chained(40, functions)},
		{"arrays", "", chained(maxNameDepth/2, arrays)},
		{"arrays, too deep", "too long", chained(10_000, arrays)},
		{"arrays of structs", "take too long", chained(10_000, namedArrays)},
		{"channel of itself", "a part of itself", chain(func(e *dwarfTypes) { *e = append(append(*e, 10, 18), firstType, 0, 0, 0) })},
		{"variable's type in another entry", "refers to the middle", append(chained(1, pointers), 12, firstType+1, 0, 0, 0)},
		{"type in the header of the unit", "", append(chained(1, pointers), 12, 3, 0, 0, 0)},
	} {
		in := infoSections{c.entries.unit(), typed, binary.LittleEndian, 1 << 30, reads{order: binary.LittleEndian, allowed: 1 << 30}}
		err := checkInfo(in, map[uint64]lineTable{0: {}}, 20)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err == nil {
			readByDelve(t, c.name, in)
		}
	}
}

func chain(write func(e *dwarfTypes)) (e dwarfTypes) {
	write(&e)
	return e
}

// readByDelve reads the first type as Delve does.
func readByDelve(t *testing.T, name string, in infoSections) {
	t.Helper()
	d, err := dwarf.New(in.abbrev, nil, nil, in.info, nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if typ, err := godwarf.ReadType(d, 0, firstType, map[dwarf.Offset]godwarf.Type{}); err != nil || len(typ.String()) == 0 {
		t.Errorf("%s: Delve reads %v, %v", name, typ, err)
	}
}

// TestTypesOfUnits: types that lead from unit to unit count together.
func TestTypesOfUnits(t *testing.T) {
	const each, size = 600, firstType + 5*601 + 1
	var info []byte
	for range 2 {
		e := chained(each, pointers)[:5*each]
		e.add(14, len(info)+size+firstType) // the first type of the next unit
		info = append(info, e.unit()...)
	}
	info = append(info, chained(0, nil).unit()...)
	in := infoSections{info, typed, binary.LittleEndian, 1 << 20, reads{order: binary.LittleEndian, allowed: 1 << 30}}
	if err := checkInfo(in, map[uint64]lineTable{0: {}}, 20); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%d types in one another: %v", 2*each, err)
	}
}

// TestDepths: the bound is never less than the longest way without a circle, and it is that way where there are no circles.
func TestDepths(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(7)
		nodes, edges := make([]typeNode, n), []typeEdge(nil)
		for i := range nodes {
			nodes[i].at = uint64(i)
		}
		circles := rng.IntN(2) == 0
		for range rng.IntN(3 * n) {
			from, to := rng.IntN(n), rng.IntN(n)
			if !circles && from >= to {
				continue
			}
			edges = append(edges, typeEdge{to: uint64(to), from: int32(from)})
		}
		slices.SortStableFunc(edges, func(a, b typeEdge) int { return int(a.from - b.from) })
		c := newTypeCheck(nodes, edges, 0)
		got, want := c.deepest(), 0
		for i := range nodes {
			want = max(want, longestWay(c, int32(i), make([]bool, n)))
		}
		if got < want || !circles && got != want || got > n {
			t.Fatalf("seed %d: %d, the longest way is %d of %d", seed, got, want, n)
		}
	}
}

func longestWay(c *typeCheck, at int32, on []bool) (most int) {
	on[at] = true
	for _, to := range c.of(at) {
		if to != elsewhere && !on[to] {
			most = max(most, longestWay(c, to, on))
		}
	}
	on[at] = false
	return 1 + most
}
