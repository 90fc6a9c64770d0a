package delve

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// Delve executes call-frame instructions (DWARF 5, section 6.4.2) whenever the program has stopped, where a panic would end
// clew: their operands are looked at before.

// cfaOperands are the operands of instructions, as Delve reads them (pkg/dwarf/frame/table.go): u and s are LEB128 numbers, b is a block
// behind its length, a digit a number of so many bytes. Delve goes no further than an instruction that it does not know.
var cfaOperands = map[byte]string{
	0x00: "", 0x01: "8", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x0a: "", 0x0b: "",
	0x0c: "uu", 0x0d: "u", 0x0e: "u", 0x0f: "b", 0x10: "ub", 0x11: "us", 0x12: "us", 0x13: "s", 0x14: "uu", 0x15: "us", 0x16: "ub",
	0x1c: "1", 0x2d: "", 0x2e: "u", 0x3f: "1",
	0x40: "", 0x80: "u", 0xc0: "", // with an operand in the lower six bits
}

const (
	cfaSetLoc   = 0x01
	cfaAdvance1 = 0x02
	cfaAdvance2 = 0x03
	cfaAdvance4 = 0x04
	cfaRemember = 0x0a
	cfaRestore  = 0x0b
)

var (
	errCutOff     = errors.New("a call-frame instruction is cut off")
	errNoState    = errors.New("a call-frame instruction restores a state that was not remembered")
	errMoves      = errors.New("a call-frame instruction of a common entry changes the address")
	errBlock      = errors.New("a call-frame instruction's block has no such length")
	errExpression = errors.New("a call-frame instruction's expression cannot be evaluated")
	errMany       = errors.New("call-frame instructions have too many expressions")
)

// What is evaluated of one section: an expression costs an evaluation, and up to ten steps for each of its bytes. Compilers write
// some ten bytes for each function that realigns its stack.
const (
	maxExpressions     = 1 << 20
	maxExpressionBytes = 1 << 20
)

// checkPrograms says whether Delve survives the instructions of all entries.
func checkPrograms(entries frame.FrameDescriptionEntries) error {
	begun := make(map[*frame.CommonInformationEntry]int) // states that these remember
	var left expressions
	for _, fde := range entries {
		states, known := begun[fde.CIE]
		if !known {
			p := cfaProgram{rest: fde.CIE.InitialInstructions, initial: true, expressions: &left}
			if err := p.check(); err != nil {
				return err
			}
			states, begun[fde.CIE] = p.states, p.states
		}
		p := cfaProgram{rest: fde.Instructions, states: states, expressions: &left}
		if err := p.check(); err != nil {
			return fmt.Errorf("at %#x: %w", fde.Begin(), err)
		}
	}
	return nil
}

// cfaProgram is the rest of the instructions of an entry.
type cfaProgram struct {
	rest    []byte
	states  int  // that are remembered
	initial bool // of a common entry: Delve does not know the byte order there
	*expressions
}

// expressions are what was evaluated of a section so far.
type expressions struct{ number, bytes int }

func (p *cfaProgram) check() error {
	for len(p.rest) > 0 {
		code := p.rest[0]
		p.rest = p.rest[1:]
		if code >= 0x40 {
			code &= 0xc0
		}
		operands, known := cfaOperands[code]
		if !known {
			return nil
		}
		if err := p.admit(code); err != nil {
			return err
		}
		for _, kind := range operands {
			if err := p.skip(kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// admit says why Delve does not survive an instruction, whatever its operands are. Of one that is cut off Delve takes what
// there is, but for a byte.
func (p *cfaProgram) admit(code byte) error {
	switch code {
	case cfaRemember:
		p.states++
	case cfaRestore:
		if p.states--; p.states < 0 {
			return errNoState
		}
	case cfaSetLoc, cfaAdvance2, cfaAdvance4:
		if p.initial {
			return errMoves
		}
	case cfaAdvance1:
		if len(p.rest) == 0 {
			return errCutOff
		}
	}
	return nil
}

// skip goes behind an operand.
func (p *cfaProgram) skip(kind rune) error {
	switch kind {
	case 'u', 's':
		_, err := p.leb()
		return err
	case 'b':
		n, err := p.leb()
		if err != nil {
			return err
		}
		if n > math.MaxInt64 {
			return errBlock
		}
		return p.evaluate(p.next(n))
	}
	p.next(uint64(kind - '0'))
	return nil
}

// next returns the next n bytes, or as many as there are.
func (p *cfaProgram) next(n uint64) (out []byte) {
	n = min(n, uint64(len(p.rest)))
	out, p.rest = p.rest[:n], p.rest[n:]
	return out
}

// leb reads a LEB128 number. It is 0 where nothing follows, for Delve.
func (p *cfaProgram) leb() (n uint64, err error) {
	for i, b := range p.rest {
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			p.rest = p.rest[i+1:]
			return n, nil
		}
	}
	if len(p.rest) > 0 {
		return 0, errCutOff
	}
	return 0, nil
}

// evaluate evaluates an expression as Delve would, with other registers and no memory.
func (x *expressions) evaluate(instructions []byte) (err error) {
	x.number++
	if x.bytes += len(instructions); x.number > maxExpressions || x.bytes > maxExpressionBytes {
		return errMany
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w (%v)", errExpression, r)
		}
	}()
	nothing := func(to []byte, _ uint64) (int, error) { return len(to), nil }
	_, _, _ = op.ExecuteStackProgram(anyRegisters(), instructions, 8, nothing) // an error Delve takes itself
	return nil
}

// anyRegisters are all registers that can be read, on amd64 and arm64.
var anyRegisters = sync.OnceValue(func() (regs op.DwarfRegisters) {
	const most = 128
	regs.CFA = 1
	for reg := range uint64(most) {
		regs.AddReg(reg, op.DwarfRegisterFromUint64(reg))
	}
	return regs
})
