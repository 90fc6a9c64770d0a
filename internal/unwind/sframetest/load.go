package sframetest

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/clewdbg/clew/sframe"
)

// Load reads the sections of an ELF file, which may be packed by gzip, without
// regard for its segments.
func Load(path string) (sframe.Section, sframe.Options, error) {
	fail := func(err error) (sframe.Section, sframe.Options, error) {
		return sframe.Section{}, sframe.Options{}, fmt.Errorf("%s: %w", path, err)
	}
	data, err := Read(path)
	if err != nil {
		return fail(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	opts := sframe.Options{Arch: archOf(f)}
	var section sframe.Section
	for _, name := range []string{sframe.SectionName, sframe.SectionPLTGot, sframe.SectionPLT, sframe.SectionPLTSec} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		loaded := sframe.Section{Name: name, Addr: s.Addr}
		if loaded.Data, err = s.Data(); err != nil {
			return fail(err)
		}
		if name == sframe.SectionName {
			section = loaded
		} else {
			opts.AddPLT(loaded)
		}
	}
	return section, opts, nil
}

// Read reads a file that may be packed by gzip.
func Read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// ToErrata1 returns a table of version 2 as binutils 2.45 writes it: functions'
// starts are relative to their fields, and the flags say so.
func ToErrata1(table []byte) []byte {
	out := bytes.Clone(table)
	var order binary.ByteOrder = binary.LittleEndian
	if out[0] == 0xde {
		order = binary.BigEndian
	}
	out[3] |= sframe.FlagPCRelative
	first := 28 + uint32(out[7]) + order.Uint32(out[20:])
	for i := range order.Uint32(out[8:]) {
		at := first + 20*i
		order.PutUint32(out[at:], order.Uint32(out[at:])-at)
	}
	return out
}
