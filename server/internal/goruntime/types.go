package goruntime

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Types finds structures of the runtime by their type descriptors, which programs
// without DWARF and symbols have too (internal/abi/type.go). The descriptors lie in
// [start, start+len(data)) of the program's memory.
type Types struct {
	start  uint64
	data   []byte
	memory unwind.Memory
	found  map[string]uint64 // descriptors by name
}

// Parts of a descriptor: abi.Type, then of a structure its package and its fields.
const (
	typeFlag, typeKind, typeName = 20, 23, 40
	typeFields, typeEnd          = 56, 80
	kindStruct, kindMask         = 25, 31
	extraStar                    = 1 << 1 // the name has a star before it
	fieldSize                    = 24
	// maxTypes bounds the descriptors that are read, in bytes, and maxFields the fields of a
	// structure.
	maxTypes  = 1 << 28
	maxFields = 1024
)

// ReadTypes reads the descriptors in [start, end) and finds the structures with these
// names.
func ReadTypes(memory unwind.Memory, start, end uint64, names ...string) (*Types, error) {
	if end <= start || end-start > maxTypes {
		return nil, fmt.Errorf("type descriptors from %#x to %#x", start, end)
	}
	t := &Types{start: start, data: make([]byte, end-start), memory: memory, found: make(map[string]uint64)}
	if err := memory.ReadMemory(start, t.data); err != nil {
		return nil, fmt.Errorf("type descriptors: %w", err)
	}
	for off := 0; off+typeEnd <= len(t.data) && len(t.found) < len(names); off += 8 {
		d := t.data[off:]
		if d[typeKind]&kindMask != kindStruct {
			continue
		}
		for _, name := range names {
			if t.isNamed(d, name) && t.fieldsOf(start+uint64(off)) != nil {
				t.found[name] = start + uint64(off)
			}
		}
	}
	return t, nil
}

// isNamed says whether a descriptor has that name: a byte of flags, the length, which
// is below 128 here, and the text.
func (t *Types) isNamed(d []byte, name string) bool {
	at := uint64(order.Uint32(d[typeName:]))
	if d[typeFlag]&extraStar != 0 {
		name = "*" + name
	}
	if at+2+uint64(len(name)) > uint64(len(t.data)) {
		return false
	}
	text := t.data[at+1:]
	return int(text[0]) == len(name) && bytes.HasPrefix(text[1:], []byte(name))
}

// Structure returns a structure that was looked for, nil if it was not found.
func (t *Types) Structure(name string) Structure {
	if at, ok := t.found[name]; ok {
		return described{t, at}
	}
	return nil
}

// at returns the descriptor at an address.
func (t *Types) at(addr uint64) []byte {
	if addr < t.start || addr-t.start > uint64(len(t.data))-typeEnd {
		return nil
	}
	return t.data[addr-t.start:]
}

// fieldsOf reads the list of a structure's fields, nil if no structure is there.
func (t *Types) fieldsOf(addr uint64) []byte {
	d := t.at(addr)
	if d == nil || d[typeKind]&kindMask != kindStruct {
		return nil
	}
	list, count := order.Uint64(d[typeFields:]), order.Uint64(d[typeFields+8:])
	if count == 0 || count > maxFields || count != order.Uint64(d[typeFields+16:]) {
		return nil
	}
	out := make([]byte, fieldSize*count)
	if t.memory.ReadMemory(list, out) != nil {
		return nil
	}
	return out
}

// described is a structure by its descriptor.
type described struct {
	types *Types
	at    uint64
}

// Size implements [Structure].
func (s described) Size() int64 { return int64(order.Uint64(s.types.at(s.at))) }

// Offset implements [Structure].
func (s described) Offset(path string) (int64, error) {
	name, rest, nested := strings.Cut(path, ".")
	for fields := s.types.fieldsOf(s.at); len(fields) > 0; fields = fields[fieldSize:] {
		if !s.types.isField(order.Uint64(fields), name) {
			continue
		}
		off := int64(order.Uint64(fields[16:]))
		if !nested {
			return off, nil
		}
		inner, err := described{s.types, order.Uint64(fields[8:])}.Offset(rest)
		return off + inner, err
	}
	return 0, fmt.Errorf("there is no field %s", name)
}

// isField says whether the name at an address is this one.
func (t *Types) isField(addr uint64, name string) bool {
	buf := make([]byte, 2+len(name))
	return t.memory.ReadMemory(addr, buf) == nil && int(buf[1]) == len(name) && string(buf[2:]) == name
}
