package document

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/server/export"
)

// things are fields that cost least in a file, and a few more: what each becomes is counted.
var things = map[string]string{
	"sample types":     "\x0a\x00",
	"samples":          "\x12\x00",
	"mappings":         "\x1a\x00",
	"locations":        "\x22\x00",
	"functions":        "\x2a\x00",
	"strings":          "\x32\x00",
	"strings of bytes": "\x32\x01a",
	"comments":         "\x6a\x04\x00\x00\x00\x00",
	"single comments":  "\x68\x00",
	"frames":           "\x12\x06\x0a\x04\x01\x01\x01\x01",
	"single frames":    "\x12\x02\x08\x01",
	"values":           "\x12\x06\x12\x04\x01\x01\x01\x01",
	"lines":            "\x22\x08\x22\x00\x22\x00\x22\x00\x22\x00",
	"labels":           "\x12\x06\x1a\x04\x10\x01\x08\x01",
	"numeric labels":   "\x12\x08\x1a\x06\x18\x01\x08\x01\x20\x01",
	"many labels":      "\x12\x0c\x1a\x04\x10\x01\x08\x01\x1a\x04\x10\x01\x08\x00",
	"long numbers":     "\x92\x80\x80\x80\x80\x80\x80\x80\x80\x02\x00", // of samples, in ten bytes with a 65th bit
}

// TestProfileSize: what a profile is counted as is no less than what google/pprof keeps of it, and
// no more than some times that.
func TestProfileSize(t *testing.T) {
	for name, thing := range things {
		t.Run(name, func(t *testing.T) {
			data := []byte("\x32\x00\x32\x01k" + strings.Repeat(thing, 20000))
			counted, err := profileSize(data, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			before := inUse()
			p, err := profile.ParseUncompressed(data)
			if err != nil {
				t.Fatal(err)
			}
			kept := inUse() - before
			runtime.KeepAlive(p)
			t.Logf("%d bytes each, counted as %d", kept/20000, counted/20000)
			held := strings.HasPrefix(name, "strings") // while it is read; here nothing refers to them
			if counted < kept || counted > 12*kept+1<<20 && !held {
				t.Errorf("%d bytes are kept, counted as %d", kept, counted)
			}
			if _, err := profileSize(data, counted-1); err == nil {
				t.Error("one byte less is enough")
			}
		})
	}
}

func inUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// FuzzProfileSize: whatever the data, what google/pprof finds in it was counted.
func FuzzProfileSize(f *testing.F) {
	for _, thing := range things {
		f.Add([]byte("\x32\x00\x32\x01k" + thing))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		counted, err := profileSize(data, maxParsed)
		if err != nil {
			t.Fatal(err) // 64 KiB do not become that much
		}
		p, err := profile.ParseUncompressed(data)
		if err != nil {
			return
		}
		found := len(p.Sample)*sizeSample + len(p.Mapping)*sizeMapping + len(p.Location)*sizeLocation + len(p.Function)*sizeFunction
		for _, s := range p.Sample {
			found += len(s.Location)*sizeFrame + len(s.Value)*sizeNumber
			for _, values := range s.Label {
				found += len(values) * sizeLabel
			}
		}
		for _, l := range p.Location {
			found += len(l.Line) * sizeLine
		}
		if counted < found {
			t.Errorf("counted as %d, at least %d", counted, found)
		}
	})
}

// TestNoLocation: a sample whose location the profile does not have.
func TestNoLocation(t *testing.T) {
	d := only(t, "\x32\x00\x22\x04\x08\x01\x18\x05\x12\x03\x0a\x01\x01\x12\x04\x0a\x02\x01\x07", 2)[1]
	if len(d.Frames) != 1 || d.Complete || d.Err == nil || !strings.Contains(d.Err.Error(), errNoLocation.Error()) {
		t.Errorf("%v, complete %v, error %v", d.Frames, d.Complete, d.Err)
	}
}

// TestSharedName: frames that share a long name, in text and JSON, and a location of many calls.
func TestSharedName(t *testing.T) {
	name, frames := strings.Repeat("n", 1<<20), 100000
	lines := strings.Repeat("\x22\x02\x08\x01", 1000)
	plain := "\x32\x00\x32" + length(1<<20) + name + "\x2a\x04\x08\x01\x10\x01" +
		"\x22" + length(4+len(lines)) + "\x08\x01\x18\x05" + lines + // location 1 at 5
		"\x22\x04\x08\x02\x18\x09" + // location 2 at 9, without a name
		"\x12" + length(2*frames+1+len(length(2*frames))) + "\x0a" + length(2*frames) + strings.Repeat("\x01\x02", frames)
	for format, write := range map[string]func(*Document, *counter) error{
		"text": func(d *Document, c *counter) error { return d.WriteText(c) },
		"json": func(d *Document, c *counter) error { return d.WriteJSON(c) },
	} {
		d := only(t, plain, 1)[0]
		var c counter
		const most = 4 << 20
		d.names.left = most
		if err := write(d, &c); err != nil {
			t.Fatal(err)
		}
		if len(d.Frames) != 2*frames || d.NamesLeftOut() == "" || c.written > 2*most+60*len(d.Frames) || c.written < most {
			t.Errorf("%s: %d frames, %d bytes written, %q", format, len(d.Frames), c.written, d.NamesLeftOut())
		}
		if !strings.Contains(string(c.begin), strings.Repeat("n", maxName)+leftOut) {
			t.Errorf("%s: the name is not there: %.300s", format, c.begin)
		}
	}
}

// counter counts what is written, and keeps the beginning.
type counter struct {
	begin   []byte
	written int
}

func (c *counter) Write(p []byte) (int, error) {
	c.begin = append(c.begin, p[:min(len(p), max(0, 1<<16-len(c.begin)))]...)
	c.written += len(p)
	return len(p), nil
}

func length(n int) string {
	var out []byte
	for ; n > 0x7f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return string(append(out, byte(n)))
}

// only reads a profile with so many samples.
func only(t *testing.T, plain string, samples int) (out []*Document) {
	t.Helper()
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := w.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for d := range Read(data.Bytes(), Options{}) {
		out = append(out, d)
	}
	if len(out) != samples {
		t.Fatalf("%d documents, expected %d: %v", len(out), samples, out[0].Err)
	}
	return out
}

// TestDeepSample: a backtrace with too many frames is an error, however they came about.
func TestDeepSample(t *testing.T) {
	d := &Document{WordSize: cbf.Word64, Frames: make([]cbf.Frame, maxCalls/2), Calls: [][]Call{{{Function: "a"}, {Function: "b"}}}}
	documents := func(yield func(*Document, error) bool) { yield(d, nil) }
	var out counter
	if err := WritePprof(&out, documents); err != nil || out.written == 0 {
		t.Errorf("%d bytes, %v", out.written, err)
	}
	d.Frames = make([]cbf.Frame, maxCalls)
	if err := WritePprof(&out, documents); !errors.Is(err, ErrDeep) {
		t.Error(err)
	}
}

// TestManyLocations: a profile of too many different frames is an error.
func TestManyLocations(t *testing.T) {
	next := uint64(1 << 20)
	documents := func(yield func(*Document, error) bool) {
		for range 3 {
			d := &Document{WordSize: cbf.Word64, Frames: make([]cbf.Frame, maxCalls/2)}
			for i := range d.Frames {
				d.Frames[i] = cbf.Frame{Kind: cbf.PC, Address: next}
				next++
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	if err := WritePprof(io.Discard, documents); !errors.Is(err, export.ErrLocations) {
		t.Error(err)
	}
}
