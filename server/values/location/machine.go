package location

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/types"
)

// value is an entry of the stack. Without a type it is a word of the size of an address.
type value struct {
	bits uint64
	of   *types.Type
	// wide are the bytes of a value of more than 8.
	wide []byte
	// stack says that the value is a place on the stack, bent that one was converted, or more was done to it than to add to it.
	//
	// Situation: LLVM keeps a variable on the stack that is converted from another, and forgets to say that the value is to be read
	// there. Example: clang 14 and 19 with -O1, a short that was a long: DW_OP_fbreg, DW_OP_convert, DW_OP_stack_value. Such a value is
	// unknown. Tests: TestEvaluate, "a spill"; TestValues (integration/dap).
	stack, bent bool
}

func word(v uint64) value { return value{bits: v} }

// machine executes an expression.
type machine struct {
	context Context
	entry   Unit

	code  []byte
	at    int // the next byte
	op    int // where the present operation begins
	steps int
	stack []value
	calls int

	done     []Piece
	now      Piece // the place that operations have named since the last piece
	named    bool  // there is one
	implicit bool  // it is a value of the stack
}

func (x *machine) fail(format string, args ...any) error {
	return &Error{x.op, fmt.Sprintf(format, args...)}
}

var errShort = errors.New("it breaks off")

func (x *machine) push(v value) {
	x.stack = append(x.stack, v)
}

func (x *machine) top() (value, error) {
	if len(x.stack) == 0 {
		return value{}, x.fail("its stack is empty")
	}
	return x.stack[len(x.stack)-1], nil
}

func (x *machine) pop() (v value, err error) {
	if v, err = x.top(); err == nil {
		x.stack = x.stack[:len(x.stack)-1]
	}
	return v, err
}

// run executes the whole expression and returns the place.
func (x *machine) run(code []byte) (Location, error) {
	if err := x.execute(code, 0); err != nil {
		return Location{}, err
	}
	if len(x.done) > 0 {
		if x.named {
			return Location{}, x.fail("pieces, and a place behind them")
		}
		return Location{x.done}, nil
	}
	piece, err := x.place()
	return Location{[]Piece{piece}}, err
}

// place is what the operations have named: a place, a value, or the address on the stack.
func (x *machine) place() (p Piece, err error) {
	if x.named {
		p, x.now, x.named, x.implicit = x.now, Piece{}, false, false
		return p, nil
	}
	v, err := x.pop()
	if err != nil {
		return p, err
	}
	return Piece{Kind: Memory, Addr: v.bits}, nil
}

func (x *machine) name(p Piece) {
	x.now, x.named = p, true
}

// execute executes operations. calls counts the expressions that lead here.
func (x *machine) execute(code []byte, calls int) error {
	before, at := x.code, x.at
	defer func() { x.code, x.at = before, at }()
	x.code, x.at, x.calls = code, 0, calls
	for x.at < len(x.code) {
		if x.steps++; x.steps > maxSteps {
			return x.fail("more than %d operations", maxSteps)
		}
		if len(x.stack) > maxStack {
			return x.fail("more than %d values on its stack", maxStack)
		}
		x.op = x.at
		op := x.code[x.at]
		x.at++
		if to, ok := same[op]; ok {
			op = to
		}
		if err := x.step(op); err != nil {
			return err
		}
	}
	return nil
}

func (x *machine) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(x.code)-x.at) {
		return nil, &Error{x.op, errShort.Error()}
	}
	out := x.code[x.at:][:n:n]
	x.at += int(n)
	return out, nil
}

func (x *machine) uint(size int) (uint64, error) {
	b, err := x.bytes(uint64(size))
	return number(x.context.Order(), b), err
}

func (x *machine) int(size int) (int64, error) {
	v, err := x.uint(size)
	shift := 64 - 8*size
	return int64(v<<shift) >> shift, err
}

func (x *machine) uleb() (uint64, error) {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b, err := x.uint(1)
		if err != nil {
			return 0, err
		}
		v |= b & 0x7f << shift
		if b&0x80 == 0 {
			return v, nil
		}
	}
	return 0, x.fail("a number without end")
}

func (x *machine) sleb() (int64, error) {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b, err := x.uint(1)
		if err != nil {
			return 0, err
		}
		v |= b & 0x7f << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return int64(v), nil
		}
	}
	return 0, x.fail("a number without end")
}

// step executes one operation.
func (x *machine) step(op byte) error {
	switch {
	case op >= opLit0 && op < opReg0:
		x.push(word(uint64(op - opLit0)))
		return nil
	case op >= opReg0 && op < opBreg0:
		x.name(Piece{Kind: Register, Reg: uint64(op - opReg0)})
		return nil
	case op >= opBreg0 && op < opRegx:
		return x.breg(uint64(op - opBreg0))
	case op >= opConst1u && op <= opConsts:
		return x.constant(op)
	case op >= opDup && op <= opRot:
		return x.shuffle(op)
	case op >= opAbs && op <= opXor, op >= opEq && op <= opNe:
		return x.arithmetic(op)
	}
	switch op {
	case opAddr, opAddrx, opConstx:
		return x.address(op)
	case opDeref, opDerefSize, opDerefType:
		return x.deref(op)
	case opBra, opSkip:
		return x.jump(op)
	case opRegx:
		n, err := x.uleb()
		x.name(Piece{Kind: Register, Reg: n})
		return err
	case opBregx:
		n, err := x.uleb()
		if err != nil {
			return err
		}
		return x.breg(n)
	case opFbreg:
		off, err := x.sleb()
		if err != nil {
			return err
		}
		base, err := x.context.FrameBase()
		x.push(value{bits: base + uint64(off), stack: true})
		return err
	case opCallFrameCFA:
		cfa, err := x.context.CFA()
		x.push(value{bits: cfa, stack: true})
		return err
	case opPiece, opBitPiece:
		return x.piece(op)
	case opNop, opGNUUninit:
		return nil
	case opPushObject:
		addr, ok := x.context.Object()
		if !ok {
			return x.fail("there is no object whose address it asks for")
		}
		x.push(word(addr))
		return nil
	case opCall2, opCall4, opCallRef:
		return x.call(op)
	case opFormTLS:
		return x.tls()
	case opImplicitValue:
		n, err := x.uleb()
		if err != nil {
			return err
		}
		data, err := x.bytes(n)
		x.name(Piece{Kind: Bytes, Data: data})
		return err
	case opStackValue:
		return x.stackValue()
	case opImplicitPtr:
		return x.implicitPointer()
	case opEntryValue:
		return x.entryValue()
	case opGNUParamRef:
		return x.parameter()
	case opConstType, opRegvalType, opConvert, opReinterpret:
		return x.typed(op)
	}
	return x.fail("the operation %#x is not supported", op)
}

func (x *machine) breg(reg uint64) error {
	off, err := x.sleb()
	if err != nil {
		return err
	}
	data, err := x.context.Register(reg)
	if err != nil {
		return err
	}
	x.push(value{bits: number(x.context.Order(), data[:min(8, len(data))]) + uint64(off), stack: x.context.OnStack(reg)})
	return nil
}

func (x *machine) constant(op byte) error {
	var v uint64
	var s int64
	var err error
	switch op {
	case opConstu:
		v, err = x.uleb()
	case opConsts:
		s, err = x.sleb()
		v = uint64(s)
	default:
		size := 1 << ((op - opConst1u) / 2)
		if (op-opConst1u)%2 == 0 {
			v, err = x.uint(size)
		} else {
			s, err = x.int(size)
			v = uint64(s)
		}
	}
	x.push(word(v))
	return err
}

// address pushes an address of the file, or a constant among the unit's addresses.
func (x *machine) address(op byte) error {
	if op == opAddr {
		_, size, _ := x.entry.Sizes()
		v, err := x.uint(size)
		x.push(word(v + x.context.Bias()))
		return err
	}
	i, err := x.uleb()
	if err != nil {
		return err
	}
	v, err := x.entry.AddressAt(i)
	if op == opAddrx {
		v += x.context.Bias()
	} else if x.at < len(x.code) && (x.code[x.at] == opFormTLS || x.code[x.at] == opGNUPushTLS) {
		x.push(word(v)) // an offset in the module's block
		return err
	}
	x.push(word(v))
	return err
}

func (x *machine) deref(op byte) error {
	_, address, _ := x.entry.Sizes()
	size, of := uint64(address), (*types.Type)(nil)
	var err error
	if op != opDeref {
		if size, err = x.uint(1); err != nil {
			return err
		}
	}
	if op == opDerefType {
		if of, err = x.base(); err != nil {
			return err
		}
	}
	at, err := x.pop()
	if err != nil {
		return err
	}
	if size == 0 || size > 16 {
		return x.fail("it reads %d bytes", size)
	}
	var buf [16]byte
	if err := x.context.ReadMemory(at.bits, buf[:size]); err != nil {
		return err
	}
	x.push(x.typedValue(buf[:size], of))
	return nil
}

// typedValue is a value from its bytes.
func (x *machine) typedValue(data []byte, of *types.Type) value {
	if len(data) > 8 {
		return value{of: of, wide: append([]byte(nil), data...)}
	}
	return value{bits: number(x.context.Order(), data), of: of}
}

func (x *machine) jump(op byte) error {
	to, err := x.int(2)
	if err != nil {
		return err
	}
	if op == opBra {
		v, err := x.pop()
		if err != nil {
			return err
		}
		if v.bits == 0 && v.wide == nil {
			return nil
		}
	}
	target := int64(x.at) + to
	if target < 0 || target > int64(len(x.code)) {
		return x.fail("it jumps out of itself")
	}
	x.at = int(target)
	return nil
}

func (x *machine) shuffle(op byte) error {
	n := 0
	switch op {
	case opOver, opSwap:
		n = 1
	case opRot:
		n = 2
	case opPick:
		v, err := x.uint(1)
		if err != nil {
			return err
		}
		n = int(v)
	}
	if n >= len(x.stack) {
		return x.fail("its stack is too short")
	}
	end := len(x.stack) - 1
	switch s := x.stack; op {
	case opDup, opOver, opPick:
		x.push(s[end-n])
	case opDrop:
		x.stack = s[:end]
	case opSwap:
		s[end], s[end-1] = s[end-1], s[end]
	case opRot:
		s[end], s[end-1], s[end-2] = s[end-1], s[end-2], s[end]
	}
	return nil
}

// piece ends a piece of a value.
func (x *machine) piece(op byte) error {
	size, err := x.uleb()
	if err != nil {
		return err
	}
	shift := uint64(0)
	if op == opBitPiece {
		if shift, err = x.uleb(); err != nil {
			return err
		}
	} else if size > 1<<48 {
		return x.fail("a piece of %d bytes", size)
	} else {
		size *= 8
	}
	if len(x.done) == maxPieces {
		return x.fail("more than %d pieces", maxPieces)
	}
	p := Piece{} // without a place before it, the piece is optimized out
	if x.named || len(x.stack) > 0 {
		if p, err = x.place(); err != nil {
			return err
		}
	}
	p.Bits, p.Shift = size, shift
	x.stack = x.stack[:0]
	x.done = append(x.done, p)
	return nil
}

// call executes the expression of another entry.
func (x *machine) call(op byte) error {
	var to *dwarfline.Entry
	var off uint64
	var err error
	switch op {
	case opCall2, opCall4:
		if off, err = x.uint(2 << (op - opCall2)); err == nil {
			to, err = x.entry.InUnit(off)
		}
	default:
		_, _, size := x.entry.Sizes()
		if off, err = x.uint(size); err == nil {
			to, err = x.entry.InSection(off)
		}
	}
	if err != nil {
		return err
	}
	if x.calls == maxCalls {
		return x.fail("too many expressions that lead to others")
	}
	code, ok, err := to.Block(dwarf.AttrLocation)
	if err != nil || !ok {
		return err
	}
	calls := x.calls
	defer func() { x.calls = calls }()
	return x.execute(code, calls+1)
}

func (x *machine) tls() error {
	v, err := x.pop()
	if err != nil {
		return err
	}
	addr, err := x.context.TLS(v.bits)
	x.push(word(addr))
	return err
}

// stackValue makes the top of the stack the value itself.
func (x *machine) stackValue() error {
	v, err := x.pop()
	if err != nil {
		return err
	}
	if v.bent {
		return x.fail("it makes a number of a place on the stack, which is a fault of the compiler's")
	}
	data := v.wide
	if data == nil {
		data = make([]byte, 8)
		x.context.Order().PutUint64(data, v.bits)
		if v.of != nil && v.of.Size > 0 && v.of.Size < 8 && x.context.Order() == binary.LittleEndian {
			data = extend(data[:v.of.Size], v.of.IsSigned())
		}
	}
	x.name(Piece{Kind: Bytes, Data: data, Stack: v.stack})
	x.implicit = true
	return nil
}

// extend makes 8 bytes of fewer, which are little-endian.
func extend(data []byte, signed bool) []byte {
	out := make([]byte, 8)
	copy(out, data)
	if signed && data[len(data)-1]&0x80 != 0 {
		for i := len(data); i < 8; i++ {
			out[i] = 0xff
		}
	}
	return out
}

func (x *machine) implicitPointer() error {
	version, address, size := x.entry.Sizes()
	if version <= 2 {
		size = address
	}
	off, err := x.uint(size)
	if err != nil {
		return err
	}
	by, err := x.sleb()
	if err != nil {
		return err
	}
	to, err := x.entry.InSection(off)
	if err != nil {
		return err
	}
	x.name(Piece{Kind: Implied, Entry: to, Offset: by})
	return nil
}

func (x *machine) entryValue() error {
	n, err := x.uleb()
	if err != nil {
		return err
	}
	code, err := x.bytes(n)
	if err != nil {
		return err
	}
	data, err := x.context.Entry(code)
	if err != nil {
		return err
	}
	x.push(x.typedValue(data, nil))
	return nil
}

func (x *machine) parameter() error {
	off, err := x.uint(4)
	if err != nil {
		return err
	}
	to, err := x.entry.InUnit(off)
	if err != nil {
		return err
	}
	data, err := x.context.Parameter(to)
	if err != nil {
		return err
	}
	x.push(x.typedValue(data, nil))
	return nil
}
