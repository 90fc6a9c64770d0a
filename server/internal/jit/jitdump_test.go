package jit

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
)

// dumpWriter writes a jitdump by the words of its specification.
type dumpWriter struct {
	bytes.Buffer
	order binary.ByteOrder
}

func (w *dumpWriter) put(values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			w.WriteString(s)
			continue
		}
		_ = binary.Write(w, w.order, v) // to a buffer
	}
}

func (w *dumpWriter) record(kind uint32, values ...any) {
	body := dumpWriter{order: w.order}
	body.put(values...)
	w.put(kind, uint32(recordSize+body.Len()), uint64(7), body.String())
}

func sampleDump(order binary.ByteOrder) []byte {
	w := dumpWriter{order: order}
	w.put(uint32(dumpMagic), uint32(1), uint32(dumpHeaderSize), uint32(62), uint32(0), uint32(4711), uint64(1), uint64(0))
	w.record(recordLines, uint64(0x1000), uint64(3), uint64(0x1000), uint32(10), uint32(0), "a.js\x00", uint64(0x1002), uint32(11), uint32(0), "\xff\x00", uint64(0x1003), uint32(2), uint32(0), "b.js\x00")
	w.record(recordUnwind, uint64(12), uint64(4), uint64(12), "eh_framehdr.", "padding.")
	w.record(recordLoad, uint32(4711), uint32(4712), uint64(0x1000), uint64(0x1000), uint64(4), uint64(9), "first\x00", "\x90\x90\x90\xc3")
	w.record(99, "a later version's")
	w.record(recordLoad, uint32(4711), uint32(4712), uint64(0x2000), uint64(0x2000), uint64(2), uint64(10), "second\x00", "\x90\xc3")
	w.record(recordMove, uint32(4711), uint32(4712), uint64(0x3000), uint64(0x1000), uint64(0x3000), uint64(4), uint64(9))
	w.record(recordClose)
	w.WriteString("behind the end")
	return w.Bytes()
}

func TestDump(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := sampleDump(order)
		d, err := ReadDump(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%v: %v", order, err)
		}
		if d.Machine != 62 || d.PID != 4711 || len(d.Code) != 3 {
			t.Fatalf("%v: %+v", order, d)
		}
		if want := []Symbol{{0x1000, 0x1004, "first"}, {0x2000, 0x2002, "second"}, {0x3000, 0x3004, "first"}}; !reflect.DeepEqual(d.Symbols(), want) {
			t.Errorf("%v: %v", order, d.Symbols())
		}
		first := d.Code[0]
		if string(first.Unwind.Frame) != "eh_frame" || string(first.Unwind.Header) != "hdr." {
			t.Errorf("%v: %+v", order, first)
		}
		if f := first.Frames(); f.Addr != 0x1008 || string(f.Data) != "eh_frame" {
			t.Errorf("%v: %+v", order, f)
		}
		if at := []Line{first.LineAt(0xfff), first.LineAt(0x1001), first.LineAt(0x1003)}; at[0] != (Line{}) || at[1].Line != 10 || at[2].File != "b.js" {
			t.Errorf("%v: %v", order, at)
		}
		if want := []Line{{0x1000, "a.js", 10}, {0x1002, "a.js", 11}, {0x1003, "b.js", 2}}; !reflect.DeepEqual(first.Lines, want) {
			t.Errorf("%v: %v", order, first.Lines)
		}
		if moved := d.Code[2]; moved.Unwind.Frame != nil || moved.Lines[1].Addr != 0x3002 {
			t.Errorf("%v: %+v", order, moved)
		}
		// A program that still writes.
		for n := dumpHeaderSize; n < len(data); n++ {
			if _, err := ReadDump(bytes.NewReader(data[:n])); err != nil {
				t.Fatalf("%v: the first %d bytes: %v", order, n, err)
			}
		}
	}
}

func FuzzDump(f *testing.F) {
	f.Add(sampleDump(binary.LittleEndian))
	f.Add(sampleDump(binary.BigEndian))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDump(bytes.NewReader(data))
		if d == nil {
			if err == nil {
				t.Fatal("neither a dump nor an error")
			}
			return
		}
		NewNames(d.Symbols()).Find(0x1000)
	})
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 20 first\n1010 30 second\n0x2000 1 c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		symbols, err := ReadPerfMap(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		n := NewNames(symbols)
		for i, s := range symbols {
			last := i == len(symbols)-1
			if got, ok := n.Find(s.Start); !ok || last && got != s {
				t.Fatalf("%+v: %+v, %v", s, got, ok)
			}
		}
	})
}
