package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/clewdbg/clew/internal/unwind/snapshot"
)

// read returns what a reader says of each line: "ok", or the error.
func read(in io.Reader, opts Options) (got []string) {
	for s, err := range NewReader(in, opts).All() {
		switch {
		case (s == nil) == (err == nil):
			got = append(got, "both or neither")
		case err != nil:
			got = append(got, err.Error())
		default:
			got = append(got, "ok")
		}
	}
	return got
}

func TestReaderGoesOnAfterErrors(t *testing.T) {
	good := with(nil)
	stream := good + "\n\n  \t\r\n" + "\x7fELF\n" + good + "\r\n" + `{"version":1}` + "\n" +
		with(map[string]string{"os": `"x"`}) + "\n" + good
	want := []string{
		"ok",
		"line 4: not JSON, at byte 1: invalid character '\\x7f' looking for beginning of value",
		"ok",
		"line 6: arch: required, and not there",
		`line 7: os: unknown operating system "x" (known: linux, darwin)`,
		"ok", // no line end at the end
	}
	for name, in := range map[string]io.Reader{
		"whole": strings.NewReader(stream), "bytes": iotest.OneByteReader(strings.NewReader(stream)), "with EOF": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		if got := read(in, Options{}); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	for _, err := range NewReader(strings.NewReader("\n{"), Options{}).All() {
		var line *LineError
		var syntax *SyntaxError
		if !errors.As(err, &line) || line.Line != 2 || !errors.As(err, &syntax) || syntax.Offset != 1 {
			t.Errorf("%#v", err)
		}
	}
}

func TestReaderOfNothing(t *testing.T) {
	for _, in := range []string{"", "\n", "\n\n \n"} {
		if got := read(strings.NewReader(in), Options{}); got != nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestReaderStops(t *testing.T) {
	n := 0
	for _, err := range NewReader(strings.NewReader(strings.Repeat("x\n", 5)), Options{}).All() {
		if n++; n == 2 || err == nil {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestReaderLineTooLong(t *testing.T) {
	good := with(nil)
	long := with(map[string]string{"memory": "[" + strings.Repeat(" ", 200_000) + "]"})
	for _, last := range []string{"\n" + good, ""} {
		var want = []string{"ok", fmt.Sprintf("line 2: the line is too long: more than %d bytes", len(good))}
		if last != "" {
			want = append(want, "ok")
		}
		// A line of just the greatest length is read.
		if got := read(strings.NewReader(good+"\n"+long+last), Options{MaxLine: len(good)}); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	for _, err := range NewReader(strings.NewReader(long), Options{MaxLine: 1000}).All() {
		if !errors.Is(err, ErrLineTooLong) {
			t.Error(err)
		}
	}
}

func TestReaderStreamFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	in := io.MultiReader(strings.NewReader(with(nil)+"\n{"), iotest.ErrReader(broken))
	want := []string{"ok", "line 2: cannot be read: the disk is gone"}
	if got := read(in, Options{}); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A line of a few bytes an element must not take a few hundred bytes an element
// without a bound.
func TestReaderBoundsMemory(t *testing.T) {
	const n = 20_000
	many := func(element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	for field, value := range map[string]string{
		"threads": many(`{"registers":{"rip":"0x1"}}`),
		"maps":    many(`{"start":"0x1","end":"0x2","perm":"r-x"}`),
		"expect":  `{"stacks":[{"frames":` + many(`{}`) + `}]}`,
	} {
		line := with(map[string]string{field: value})
		var err error
		for _, err = range NewReader(strings.NewReader(line), Options{MaxLine: len(line)}).All() {
		}
		if field == "maps" { // 41 bytes become 64, which may be
			if err != nil {
				t.Errorf("%s: %v", field, err)
			}
			continue
		}
		var fieldErr *FieldError
		if !errors.As(err, &fieldErr) || !strings.Contains(err.Error(), "too much memory") || !strings.HasPrefix(fieldErr.Path, field) {
			t.Errorf("%s: %.300v", field, err)
		}
		if _, err := Parse([]byte(line)); err != nil {
			t.Errorf("%s: with the default bounds: %v", field, err)
		}
	}
}

func TestWriteThenRead(t *testing.T) {
	var b bytes.Buffer
	lines := validLines(t)
	for _, line := range lines {
		s, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&b, s); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(&b, Options{}); len(got) != len(lines) || slices.ContainsFunc(got, func(s string) bool { return s != "ok" }) {
		t.Errorf("%q", got)
	}
	if err := Write(&b, &Snapshot{}); err == nil || b.Len() > 0 {
		t.Errorf("an invalid snapshot is written: %v, %s", err, b.Bytes())
	}
}

// FuzzReader: each line is an error or a value, and a value can be written
// and is read back as the same.
func FuzzReader(f *testing.F) {
	for _, line := range validLines(f) {
		f.Add(line)
	}
	f.Add([]byte(with(nil) + "\n\n" + with(map[string]string{"memory": "[" + window(1, "ab") + "," + window(2, "bc") + "]"})))
	f.Add([]byte(with(map[string]string{"threads": thread(`"segments":[{"low":"0x1","high":"0x2","kind":"g0"}],"claims":[{"kind":"ra","pc":"0x0","registers":{}}]`)})))
	f.Add([]byte(`{"version":1,"memory":[{"address":"0x\u0030","data":"\u0041A=="}],"images":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 0
		for s, err := range NewReader(bytes.NewReader(data), Options{MaxLine: 1 << 16}).All() {
			lines++
			if (s == nil) == (err == nil) {
				t.Fatalf("line %d: both or neither: %v, %v", lines, s, err)
			}
			if err != nil {
				var line *LineError
				if !errors.As(err, &line) || line.Line < 1 {
					t.Fatalf("%v has no line", err)
				}
				continue
			}
			if _, err := s.Target(); err != nil {
				t.Fatalf("a snapshot that was read has no memory: %v", err)
			}
			out, err := s.Marshal()
			if err != nil {
				t.Fatalf("a snapshot that was read cannot be written: %v", err)
			}
			again, err := Parse(out)
			if err != nil {
				t.Fatalf("%s cannot be read: %v", out, err)
			}
			if twice, err := again.Marshal(); err != nil || !bytes.Equal(twice, out) {
				t.Fatalf("not stable, %v:\n%s\n%s", err, out, twice)
			}
		}
		if lines > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%d results for %d lines", lines, bytes.Count(data, []byte("\n"))+1)
		}
	})
}
