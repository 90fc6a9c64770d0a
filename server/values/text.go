package values

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// Words for what is no value.
const optimizedOut = "<optimized out>"

// Unknown is the text of a value that is not known.
func Unknown(err error) string {
	if OptimizedOut(err) {
		return optimizedOut
	}
	return "<unknown: " + printable.Text(err.Error()) + ">"
}

// Limits of a value's text.
const (
	maxText     = 1 << 10 // bytes
	maxElements = 64
	maxDepth    = 3
	maxString   = 256 // characters of a string
	maxWithin   = 32  // values within each other that are shown as what they hold
)

// Text is the value in one line, cut where it is long.
func (v *Value) Text() string {
	defer v.frame.stack.budget()()
	w := writer{}
	w.value(v, maxDepth)
	return w.String()
}

// Err says why the value is not known, nil if it is: of a structure, or an array, its parts may be unknown all the same.
func (v *Value) Err() error {
	u, err := v.under()
	if err != nil {
		return err
	}
	switch u.Kind {
	case types.Struct, types.Union:
		if u.Incomplete {
			_, err := u.Bytes()
			return err
		}
		if v.nothing() {
			return v.firstErr()
		}
		return nil
	case types.Array:
		_, err := v.length(u)
		return err
	case types.Reference:
		if _, err := v.word(); !errors.Is(err, errImplied) {
			return err
		}
		return v.Follow().err
	}
	_, err = v.simple(u)
	return err
}

// nothing says that no byte of a structure can be read.
func (v *Value) nothing() bool { return v.firstErr() != nil && len(v.place.Pieces) == 1 }

func (v *Value) firstErr() error {
	_, err := v.read(1)
	if n, failed := v.typ.Bytes(); failed == nil && n == 0 {
		return nil
	}
	return err
}

// writer writes values.
type writer struct {
	strings.Builder
	within int // values, also those that are shown as another
}

func (w *writer) full() bool { return w.Len() > maxText }

func (w *writer) value(v *Value, deeper int) {
	u, err := v.under()
	if err != nil {
		w.WriteString(Unknown(err))
		return
	}
	if w.within++; w.within > maxWithin {
		w.WriteString("…")
		return
	}
	defer func() { w.within-- }()
	if c := v.container(); c != nil {
		c.write(w, deeper)
		return
	}
	switch u.Kind {
	case types.Struct, types.Union:
		if to := v.traitObject(); to != nil {
			fmt.Fprintf(w, "%#x (%s): ", to.place.Pieces[0].Addr, printable.Text(to.Type()))
			w.value(to, max(deeper-1, 0))
			return
		}
		w.fields(v, u, deeper)
	case types.Array:
		w.array(v, u, deeper)
	case types.Reference:
		w.reference(v, u, deeper)
	default:
		text, err := v.simple(u)
		if err != nil {
			text = Unknown(err)
		}
		w.WriteString(text)
	}
}

// fields writes {a = 1, b = 2}.
func (w *writer) fields(v *Value, u *types.Type, deeper int) {
	if err := v.Err(); err != nil {
		w.WriteString(Unknown(err))
		return
	}
	if deeper == 0 {
		w.WriteString("{…}")
		return
	}
	w.WriteString("{")
	first := true
	for i, f := range v.fields(u) {
		if f.static != nil || f.hollow(maxDepth) {
			continue
		}
		if !first {
			w.WriteString(", ")
		}
		first = false
		if w.full() || i == maxElements {
			w.WriteString("…")
			break
		}
		if f.Name != "" {
			w.WriteString(printable.Text(f.Name) + " = ")
		}
		w.value(f, deeper-1)
	}
	w.WriteString("}")
}

// hollow says that a value is a base that holds nothing.
func (v *Value) hollow(deeper int) bool {
	u, err := v.under()
	if err != nil || !v.base || u.Kind != types.Struct || deeper == 0 {
		return false
	}
	for _, f := range v.fields(u) {
		if f.static == nil && !f.hollow(deeper-1) {
			return false
		}
	}
	return true
}

// array writes a string, or {1, 2, 3}.
func (w *writer) array(v *Value, u *types.Type, deeper int) {
	n, err := v.length(u)
	if err != nil {
		w.WriteString(Unknown(err))
		return
	}
	if isText(u) {
		if data, err := v.read(min(n, maxString)); err == nil {
			w.WriteString(quote(data, n > maxString))
			return
		}
	}
	if deeper == 0 {
		w.WriteString("{…}")
		return
	}
	w.elements(v, int(min(n, maxIndexed)), deeper)
}

func (w *writer) elements(v *Value, n, deeper int) {
	w.WriteString("{")
	for i, e := range v.Indexed(0, min(n, maxElements)) {
		if i > 0 {
			w.WriteString(", ")
		}
		if w.full() {
			w.WriteString("…}")
			return
		}
		if e.keyed {
			w.WriteString(e.Name + " = ")
		}
		w.value(e, deeper-1)
	}
	if n > maxElements {
		fmt.Fprintf(w, ", … %d more", n-maxElements)
	}
	w.WriteString("}")
}

// reference writes where a reference leads, and what is there.
func (w *writer) reference(v *Value, u *types.Type, deeper int) {
	addr, err := v.word()
	if err == nil {
		fmt.Fprintf(w, "@%#x", addr)
	} else if !errors.Is(err, errImplied) {
		w.WriteString(Unknown(err))
		return
	}
	if deeper > 0 {
		if err == nil {
			w.WriteString(": ")
		}
		to := v.Follow()
		whole := to.dynamic()
		if whole != to {
			w.WriteString("(" + printable.Text(whole.Type()) + ") ")
		}
		w.value(whole, deeper-1)
	}
}

// quoteAll writes a text with all of its zeros.
func quoteAll(text string, cut bool) string {
	if cut {
		return strconv.Quote(text) + "…"
	}
	return strconv.Quote(text)
}

// quote writes bytes as a string, up to the zeros at its end.
func quote(data []byte, cut bool) string {
	if !cut {
		data = []byte(strings.TrimRight(string(data), "\x00"))
	}
	out := strconv.Quote(string(data))
	if cut {
		out += "…"
	}
	return out
}

// simple writes what is no structure and no array.
func (v *Value) simple(u *types.Type) (string, error) {
	switch u.Kind {
	case types.Void:
		if strings.Contains(u.Own, "nullptr") { // of std::nullptr_t there is one value alone
			return "nullptr", nil
		}
		return "void", nil
	case types.Base:
		return v.number(u)
	case types.Enum:
		return v.enum(u)
	case types.Pointer:
		return v.pointer(u)
	case types.Function:
		addr, ok := v.Address()
		if !ok {
			return "", errors.New("the function has no address")
		}
		return v.frame.code(addr), nil
	case types.MemberPointer:
		return v.memberPointer(u)
	}
	return "", fmt.Errorf("values of %s (%s) are not supported", u, u.Tag)
}

func (v *Value) number(u *types.Type) (string, error) {
	size := u.Size
	if v.bits > 0 {
		size = 8
	}
	switch {
	case size == 0 && u.Own == "()": // Rust's unit
		return "()", nil
	case u.Encoding == types.EncodingFloat:
		data, err := v.read(u.Size)
		if err != nil {
			return "", err
		}
		return v.frame.float(u, data)
	case u.Encoding == types.EncodingComplex:
		data, err := v.read(u.Size)
		if err != nil {
			return "", err
		}
		re, err := v.frame.float(u, data[:u.Size/2])
		if err != nil {
			return "", err
		}
		im, err := v.frame.float(u, data[u.Size/2:])
		return re + " + " + im + "i", err
	case !u.IsInteger() && u.Encoding != types.EncodingAddress:
		return "", fmt.Errorf("values of %s, with encoding %#x, are not supported", u, u.Encoding)
	case size > 8:
		return v.wide(u)
	}
	n, err := v.word()
	if err != nil {
		return "", err
	}
	switch {
	case u.Encoding == types.EncodingAddress:
		return fmt.Sprintf("%#x", n), nil
	case u.Encoding == types.EncodingBoolean && n <= 1:
		return strconv.FormatBool(n == 1), nil
	case u.Encoding == types.EncodingBoolean:
		return "", fmt.Errorf("%d is there, which is no truth value", n)
	case u.IsCharacter():
		return character(u, n), nil
	case u.IsSigned():
		return strconv.FormatInt(int64(n), 10), nil
	}
	return strconv.FormatUint(n, 10), nil
}

// wide writes a number of more than 8 bytes.
func (v *Value) wide(u *types.Type) (string, error) {
	if u.Size > 64 {
		return "", fmt.Errorf("a number of %d bytes", u.Size)
	}
	data, err := v.read(u.Size)
	if err != nil {
		return "", err
	}
	n := bigOf(data)
	if u.IsSigned() && data[len(data)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return n.String(), nil
}

// bigOf is a little-endian number.
func bigOf(data []byte) *big.Int {
	big1 := make([]byte, len(data))
	for i, b := range data {
		big1[len(data)-1-i] = b
	}
	return new(big.Int).SetBytes(big1)
}

// character writes a character's number and, where it can be shown, itself.
func character(u *types.Type, n uint64) string {
	number := strconv.FormatUint(n, 10)
	if u.IsSigned() {
		number = strconv.FormatInt(int64(n), 10)
	}
	switch {
	case u.Size == 1 && (n&0xff < 0x80):
		return number + " " + strconv.QuoteRune(rune(n&0xff))
	case u.Size == 1:
		return fmt.Sprintf(`%s '\x%02x'`, number, n&0xff)
	case utf8.ValidRune(rune(n)) && n <= utf8.MaxRune:
		return number + " " + strconv.QuoteRune(rune(n))
	}
	return number
}

// enum writes the name of a value, names of flags, or the number.
func (v *Value) enum(u *types.Type) (string, error) {
	n, err := v.word()
	if err != nil {
		return "", err
	}
	list, err := u.Enumerators()
	if err != nil {
		return "", err
	}
	size, err := u.Bytes()
	if err != nil {
		return "", err
	}
	bits := 8 * size
	if v.bits > 0 {
		bits = v.bits
	}
	n = narrow(n, bits, false)
	left, names := n, []string(nil)
	flags := n != 0
	for _, e := range list {
		value := narrow(e.Value, bits, false)
		if value == n {
			return printable.Text(e.Name), nil
		}
		if value != 0 && value&(value-1) != 0 {
			flags = false
		} else if value != 0 && left&value != 0 {
			left &^= value
			names = append(names, printable.Text(e.Name))
		}
	}
	if flags && left == 0 && len(names) > 0 {
		return strings.Join(names, " | "), nil
	}
	if u.IsSigned() {
		return strconv.FormatInt(int64(narrow(n, bits, true)), 10), nil
	}
	return strconv.FormatUint(n, 10), nil
}

// pointer writes an address, and the string or function there.
func (v *Value) pointer(u *types.Type) (string, error) {
	to, err := u.Target()
	if err != nil {
		return "", err
	}
	t, err := to.Under()
	if err != nil {
		return "", err
	}
	if u.Size > 8 {
		return "", fmt.Errorf("a pointer of %d bytes", u.Size)
	}
	addr, err := v.word()
	if errors.Is(err, errImplied) {
		if out := v.implied(to); out != nil && out.err == nil {
			return "→ " + out.Text(), nil
		}
	}
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%#x", addr)
	switch {
	case t.Kind == types.Function:
		return v.frame.code(addr), nil
	case t.Kind == types.Struct:
		if to := v.frame.inMemory("", addr, to); to.dynamic() != to {
			text += " (" + printable.Text(to.dynamic().Type()) + " *)"
		}
	case t.IsCharacter() && t.Size == 1 && addr != 0 && !rust[u.Language]:
		if s, ok := v.frame.cString(addr); ok {
			text += " " + s
		}
	}
	return text, nil
}

// rust has the languages whose pointers to characters are no strings.
var rust = map[uint64]bool{0x1c: true}

// cString writes the string at an address.
func (f *Frame) cString(addr uint64) (string, bool) {
	data, whole, ok := f.bytesAt(addr)
	if whole {
		return strconv.Quote(string(data)), ok
	}
	return quote(data, true), ok
}

// bytesAt reads a string that ends with a zero; whole is false where it is long, or memory ends before.
func (f *Frame) bytesAt(addr uint64) (data []byte, whole, ok bool) {
	for len(data) < maxString {
		step := min(32-(addr+uint64(len(data)))%32, uint64(maxString-len(data)))
		buf := make([]byte, step)
		if f.ReadMemory(addr+uint64(len(data)), buf) != nil {
			return data, false, len(data) > 0
		}
		for i, b := range buf {
			if b == 0 {
				return append(data, buf[:i]...), true, true
			}
		}
		data = append(data, buf...)
	}
	return data, false, true
}

// nameAt returns the name of the function with an address, and how far behind its start that is.
func (f *Frame) nameAt(addr uint64) (name string, behind uint64, ok bool) {
	fn, ok := f.stack.Code.Function(unwind.InstructionAddr(addr).Lookup(f.stack.Arch))
	return demangle(fn.Name), addr - fn.Start, ok && fn.Name != ""
}

// code writes an address of code with its function.
func (f *Frame) code(addr uint64) string {
	name, behind, ok := f.nameAt(addr)
	switch {
	case !ok:
		return fmt.Sprintf("%#x", addr)
	case behind == 0:
		return fmt.Sprintf("%#x <%s>", addr, printable.Text(name))
	}
	return fmt.Sprintf("%#x <%s+%d>", addr, printable.Text(name), behind)
}

// memberPointer writes a pointer to a member: an offset, or a function and what is added to the object's address.
func (v *Value) memberPointer(u *types.Type) (string, error) {
	data, err := v.read(u.Size)
	if err != nil {
		return "", err
	}
	n := int64(v.frame.Order().Uint64(data))
	if u.Size == 8 {
		if n == -1 {
			return "null", nil
		}
		return fmt.Sprintf("offset %d", n), nil
	}
	adjust := int64(v.frame.Order().Uint64(data[8:]))
	if v.frame.stack.Arch == unwind.ARM64 {
		return "", errors.New("pointers to member functions are not supported on arm64")
	}
	text := v.frame.code(uint64(n))
	switch {
	case n == 0:
		return "null", nil
	case n&1 != 0:
		text = fmt.Sprintf("virtual function at %d in its table", n-1)
	}
	if adjust != 0 {
		text += fmt.Sprintf(", object + %d", adjust)
	}
	return text, nil
}
