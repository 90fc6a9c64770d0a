package jit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/clewdbg/clew/unwind"
)

// Code is a function in a jitdump.
type Code struct {
	Symbol
	Index  uint64 // tells versions of one function apart
	Unwind Unwind
	Lines  []Line // by address
}

// Frames is where the function's .eh_frame counts from: code generators write it for the
// place behind the code, at a multiple of 8, as perf inject does.
func (c *Code) Frames() unwind.Section {
	const align = 8
	return unwind.Section{Name: ".eh_frame", Addr: c.Start + (c.End-c.Start+align-1)&^(align-1), Data: c.Unwind.Frame}
}

// LineAt returns the line that an instruction belongs to, the zero Line for none.
func (c *Code) LineAt(addr uint64) Line {
	i := sort.Search(len(c.Lines), func(i int) bool { return c.Lines[i].Addr > addr })
	if i == 0 {
		return Line{}
	}
	return c.Lines[i-1]
}

// Unwind is the unwind information of one function: an .eh_frame_hdr and an
// .eh_frame, or nothing.
type Unwind struct {
	Header, Frame []byte
}

// Line says which source an instruction belongs to, and those behind it up to the
// next Line.
type Line struct {
	Addr uint64
	File string
	Line int
}

// Dump is what a jitdump holds.
type Dump struct {
	Machine uint16 // of ELF
	PID     uint32
	Code    []Code // in the order in which it was generated
}

// Symbols are the names of the code.
func (d *Dump) Symbols() []Symbol {
	out := make([]Symbol, len(d.Code))
	for i, c := range d.Code {
		out[i] = c.Symbol
	}
	return out
}

// The format (Linux, tools/perf/Documentation/jitdump-specification.txt).
const (
	dumpMagic      = 0x4A695444
	dumpHeaderSize = 40
	recordSize     = 16 // of what all records begin with

	recordLoad   = 0
	recordMove   = 1
	recordLines  = 2
	recordClose  = 3
	recordUnwind = 4
)

// Bounds on a jitdump, in bytes.
const (
	maxDump   = 256 << 20
	maxRecord = 64 << 20
)

var errDump = errors.New("damaged jitdump")

// dumpReader reads one jitdump.
type dumpReader struct {
	order  binary.ByteOrder
	dump   *Dump
	unwind Unwind // of the function that comes next
	lines  map[uint64][]Line
	kept   int // bytes in all
}

// ReadDump reads a jitdump. With an error what was read before comes too, if
// the header could be read; a file that merely stops is what a running program leaves, and no error.
func ReadDump(r io.Reader) (*Dump, error) {
	in := bufio.NewReader(io.LimitReader(r, maxDump))
	d, size, err := readDumpHeader(in)
	if err != nil {
		return nil, err
	}
	if _, err := in.Discard(int(size - dumpHeaderSize)); err != nil {
		return d.dump, nil
	}
	for at := int64(size); ; {
		body, n, kind, err := d.next(in)
		if err == nil && body != nil && kind != recordClose {
			err = d.record(kind, body)
		}
		if err != nil {
			return d.dump, fmt.Errorf("offset %d: %w", at, err)
		}
		if body == nil || kind == recordClose {
			return d.dump, nil
		}
		at += n
	}
}

// readDumpHeader reads magic number, version, size, machine, padding, process
// (u32), time and flags (u64).
func readDumpHeader(in io.Reader) (d *dumpReader, size uint32, err error) {
	head := make([]byte, dumpHeaderSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errDump, err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(head) != dumpMagic {
		if order = binary.BigEndian; order.Uint32(head) != dumpMagic {
			return nil, 0, fmt.Errorf("%w: no magic number at its start", errDump)
		}
	}
	size = order.Uint32(head[8:])
	if size < dumpHeaderSize || size > maxRecord {
		return nil, 0, fmt.Errorf("%w: a header of %d bytes", errDump, size)
	}
	return &dumpReader{order: order, lines: make(map[uint64][]Line),
		dump: &Dump{Machine: uint16(order.Uint32(head[12:])), PID: order.Uint32(head[20:])}}, size, nil
}

// next reads a record; its body is nil at the end.
func (d *dumpReader) next(in io.Reader) (body []byte, size int64, kind uint32, err error) {
	var head [recordSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, 0, 0, nil
	}
	total := d.order.Uint32(head[4:])
	if total < recordSize || total > maxRecord {
		return nil, 0, 0, fmt.Errorf("%w: a record of %d bytes", errDump, total)
	}
	// Grown as bytes come: a size in a short file costs nothing.
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, in, int64(total-recordSize)); err != nil {
		return nil, 0, 0, nil
	}
	body = buf.Bytes()
	if body == nil {
		body = []byte{}
	}
	return body, int64(total), d.order.Uint32(head[:]), nil
}

func (d *dumpReader) record(kind uint32, body []byte) error {
	if d.kept += len(body); d.kept > maxDump || len(d.dump.Code) >= maxSymbols {
		return fmt.Errorf("%w: more than %d functions or %d bytes", errDump, maxSymbols, maxDump)
	}
	switch kind {
	case recordLoad:
		return d.load(body)
	case recordMove:
		return d.move(body)
	case recordLines:
		return d.debugInfo(body)
	case recordUnwind:
		return d.unwinding(body)
	}
	return nil // of a later version
}

// load reads a function: process and thread (u32), vma, address, size, index
// (u64), name, instructions.
func (d *dumpReader) load(body []byte) error {
	const fixed = 40
	if len(body) < fixed {
		return fmt.Errorf("%w: code of %d bytes", errDump, len(body))
	}
	addr, size := d.order.Uint64(body[16:]), d.order.Uint64(body[24:])
	end := bytes.IndexByte(body[fixed:], 0)
	if end < 0 || addr+size < addr {
		return fmt.Errorf("%w: code at %#x of %#x bytes", errDump, addr, size)
	}
	c := Code{Symbol: Symbol{addr, addr + size, string(body[fixed:][:min(end, maxName)])}, Index: d.order.Uint64(body[32:])}
	c.Unwind, d.unwind = d.unwind, Unwind{}
	c.Lines = d.lines[addr]
	delete(d.lines, addr)
	d.dump.Code = append(d.dump.Code, c)
	return nil
}

// move reads where a function was copied to: process and thread (u32), vma, old
// address, new address, size, index (u64).
func (d *dumpReader) move(body []byte) error {
	const fixed = 48
	if len(body) < fixed {
		return fmt.Errorf("%w: a move of %d bytes", errDump, len(body))
	}
	from, to, size := d.order.Uint64(body[16:]), d.order.Uint64(body[24:]), d.order.Uint64(body[32:])
	if to+size < to {
		return fmt.Errorf("%w: a move of %#x bytes to %#x", errDump, size, to)
	}
	for i := len(d.dump.Code) - 1; i >= 0; i-- {
		c := d.dump.Code[i]
		if c.Index != d.order.Uint64(body[40:]) || c.Start != from {
			continue
		}
		c.Start, c.End = to, to+size
		c.Unwind = Unwind{} // says where the code was
		c.Lines = movedLines(c.Lines, to-from)
		d.dump.Code = append(d.dump.Code, c)
		return nil
	}
	return nil
}

func movedLines(lines []Line, by uint64) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		out[i] = Line{l.Addr + by, l.File, l.Line}
	}
	return out
}

// debugInfo reads the source lines of the function that comes next: its address,
// a count (u64), and for each address (u64), line, discriminator (u32), file.
func (d *dumpReader) debugInfo(body []byte) error {
	const fixed, entry = 16, 16
	if len(body) < fixed {
		return fmt.Errorf("%w: lines of %d bytes", errDump, len(body))
	}
	addr, count := d.order.Uint64(body), d.order.Uint64(body[8:])
	rest := body[fixed:]
	if count > uint64(len(rest))/(entry+1) {
		return fmt.Errorf("%w: %d lines in %d bytes", errDump, count, len(rest))
	}
	out := make([]Line, 0, count)
	file := ""
	for range count {
		if len(rest) < entry {
			return fmt.Errorf("%w: lines are cut off", errDump)
		}
		end := bytes.IndexByte(rest[entry:], 0)
		if end < 0 {
			return fmt.Errorf("%w: a file's name does not end", errDump)
		}
		if name := rest[entry:][:min(end, maxName)]; !bytes.Equal(name, []byte{0xff}) { // 0xff: as before
			file = string(name)
		}
		out = append(out, Line{d.order.Uint64(rest), file, int(int32(d.order.Uint32(rest[8:])))})
		rest = rest[entry+end+1:]
	}
	slices.SortStableFunc(out, func(a, b Line) int { return cmp.Compare(a.Addr, b.Addr) })
	d.lines[addr] = out
	return nil
}

// unwinding reads the unwind information of the function that comes next: sizes of
// all, of the header, of what is mapped (u64), then .eh_frame and .eh_frame_hdr.
func (d *dumpReader) unwinding(body []byte) error {
	const fixed = 24
	if len(body) < fixed {
		return fmt.Errorf("%w: unwind information of %d bytes", errDump, len(body))
	}
	size, header, rest := d.order.Uint64(body), d.order.Uint64(body[8:]), body[fixed:]
	if size > uint64(len(rest)) || header > size {
		return fmt.Errorf("%w: unwind information of %d bytes in %d", errDump, size, len(rest))
	}
	d.unwind = Unwind{Frame: rest[:size-header], Header: rest[size-header : size]}
	return nil
}
