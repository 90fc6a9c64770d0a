package goruntime

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// Dying is what Go's runtime notes of a goroutine that ends the program.
type Dying struct {
	// Panics are its panics, the first one first, as the runtime prints them.
	Panics []string
	// Signal is what became a panic, 0 for none: its number, si_code, the address, and where it came.
	Signal            uint32
	Code, Address, PC uint64
}

const (
	maxPanics = 64
	// maxPanicText bounds the text of one panic, in bytes.
	maxPanicText = 64 << 10
)

// ReadDying reads them from the runtime.g at an address. The layout of the structures comes from their type descriptors.
func ReadDying(mem unwind.Memory, maps []imagemap.Mapping, g uint64) (out Dying, err error) {
	module, err := findModule(mem, maps)
	if err != nil {
		return out, err
	}
	types, err := ReadTypes(mem, module.Types, module.ETypes, "runtime.g", "runtime._panic")
	if err != nil {
		return out, err
	}
	inG, inPanic := types.Structure("runtime.g"), types.Structure("runtime._panic")
	if inG == nil || inPanic == nil {
		return out, errors.New("the program has no descriptors of runtime.g and runtime._panic")
	}
	d := dying{memory: mem, module: module}
	sig := d.word(g, inG, "sig")
	out.Signal, out.Code, out.Address, out.PC = uint32(sig), d.word(g, inG, "sigcode0"), d.word(g, inG, "sigcode1"), d.word(g, inG, "sigpc")
	for at := d.word(g, inG, "_panic"); at != 0 && d.err == nil; at = d.word(at, inPanic, "link") {
		if len(out.Panics) == maxPanics {
			break
		}
		arg, err := inPanic.Offset("arg")
		if err != nil {
			return out, err
		}
		repeated := d.flag(at, inPanic, "repanicked")
		if repeated && len(out.Panics) > 0 { // the same value again: it stands once
			out.Panics = out.Panics[1:]
		}
		if d.flag(at, inPanic, "goexit") {
			continue
		}
		text := d.value(at + uint64(arg))
		switch recovered := d.flag(at, inPanic, "recovered"); {
		case recovered && repeated:
			text += " [recovered, repanicked]"
		case recovered:
			text += " [recovered]"
		}
		out.Panics = append([]string{text}, out.Panics...)
	}
	return out, d.err
}

// dying reads values; its first error stays.
type dying struct {
	memory unwind.Memory
	module gotab.Module
	err    error
}

func (d *dying) read(addr uint64, n int) []byte {
	buf := make([]byte, n)
	if err := d.memory.ReadMemory(addr, buf); err != nil && d.err == nil {
		d.err = err
	}
	return buf
}

func (d *dying) at(addr uint64) uint64 { return order.Uint64(d.read(addr, 8)) }

// word reads a field, 0 for one that the structure does not have.
func (d *dying) word(base uint64, in Structure, field string) uint64 {
	off, err := in.Offset(field)
	if err != nil {
		return 0
	}
	return d.at(base + uint64(off))
}

func (d *dying) flag(base uint64, in Structure, field string) bool {
	return d.word(base, in, field)&0xff == 1
}

// text reads a string by its address and length.
func (d *dying) text(header uint64) string {
	data, n := d.at(header), d.at(header+8)
	if d.err != nil || n == 0 {
		return ""
	}
	cut := min(n, maxPanicText)
	s := string(d.read(data, int(cut)))
	if cut < n {
		s += fmt.Sprintf(" (and %d bytes more)", n-cut)
	}
	return s
}

// typeName reads a type's name (internal/abi/type.go: a byte of flags, the length, the text).
func (d *dying) typeName(descriptor []byte) string {
	at := d.module.Types + uint64(order.Uint32(descriptor[typeName:]))
	head := d.read(at, 3)
	n, skip := int(head[1]), uint64(2)
	if n&0x80 != 0 {
		n, skip = n&0x7f|int(head[2])<<7, 3
	}
	name := string(d.read(at+skip, n))
	if descriptor[typeFlag]&extraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name
}

// Kinds of types (internal/abi/type.go).
const (
	kindBool = iota + 1
	kindInt
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindUint
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindUintptr
	kindFloat32
	kindFloat64
	kindString = 24
)

var kindNames = map[byte]string{
	kindBool: "bool", kindInt: "int", kindInt8: "int8", kindInt16: "int16", kindInt32: "int32", kindInt64: "int64", kindUint: "uint", kindUint8: "uint8",
	kindUint16: "uint16", kindUint32: "uint32", kindUint64: "uint64", kindUintptr: "uintptr", kindFloat32: "float32", kindFloat64: "float64", kindString: "string",
}

// value writes what an interface holds as the runtime does where it prints a panic (runtime/error.go, printpanicval): numbers and
// strings, with the type's name around them if it has one of its own; of all else the type and the address. Errors and Stringers are
// strings by then.
func (d *dying) value(iface uint64) string {
	typ, data := d.at(iface), d.at(iface+8)
	if d.err != nil || typ == 0 {
		return "nil"
	}
	descriptor := d.read(typ, typeEnd)
	kind, name := descriptor[typeKind]&kindMask, d.typeName(descriptor)
	if d.err != nil {
		return "a value that cannot be read"
	}
	text, quoted := d.scalar(kind, data)
	switch {
	case text == "" && kind != kindString:
		return fmt.Sprintf("(%s) %#x", name, data)
	case name != kindNames[kind] && quoted:
		return fmt.Sprintf("%s(%q)", name, text)
	case name != kindNames[kind]:
		return name + "(" + text + ")"
	}
	return text
}

func (d *dying) scalar(kind byte, data uint64) (text string, quoted bool) {
	sizes := map[byte]int{kindBool: 1, kindInt8: 1, kindUint8: 1, kindInt16: 2, kindUint16: 2, kindInt32: 4, kindUint32: 4, kindFloat32: 4}
	if kindNames[kind] == "" {
		return "", false
	}
	if kind == kindString {
		return d.text(data), true
	}
	size := 8
	if n := sizes[kind]; n != 0 {
		size = n
	}
	word := make([]byte, 8)
	copy(word, d.read(data, size))
	v := order.Uint64(word)
	switch kind {
	case kindBool:
		return strconv.FormatBool(v != 0), false
	case kindFloat32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'e', 6, 32), false
	case kindFloat64:
		return strconv.FormatFloat(math.Float64frombits(v), 'e', 6, 64), false
	case kindInt, kindInt8, kindInt16, kindInt32, kindInt64:
		shift := 64 - 8*size
		return strconv.FormatInt(int64(v)<<shift>>shift, 10), false
	}
	return strconv.FormatUint(v, 10), false
}

// Backlog reads the runtime's ring of what it has printed before it died: the text from the last "fatal error: " on, "" if it is not there.
func Backlog(mem unwind.Memory, ring, index uint64) string {
	const size = 512 // runtime.printBacklog
	var word [8]byte
	buf := make([]byte, size)
	if ring == 0 || index == 0 || mem.ReadMemory(ring, buf) != nil || mem.ReadMemory(index, word[:]) != nil {
		return ""
	}
	at := order.Uint64(word[:])
	if at >= size {
		return ""
	}
	text := strings.ReplaceAll(string(buf[at:])+string(buf[:at]), "\x00", "")
	i := strings.LastIndex(text, FatalPrefix)
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(text[i+len(FatalPrefix):], "\n")
}

// FatalPrefix begins what the runtime prints of an error of its own.
const FatalPrefix = "fatal error: "
