package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// tables has two rows with a gap between them.
func tables(yielded *int) *inspect.Tables {
	frame, entry := rule.FramePointer(unwind.AMD64), rule.Entry(unwind.AMD64)
	entry.Saved = []rule.Saved{{Register: unwind.AMD64RBX, Value: rule.AtCFA(-16)}}
	rows := []inspect.Row{
		{Start: 0x1000, End: 0x1010, Equations: entry.Equations(), Flags: []string{inspect.Signal}},
		{Start: 0x1020, End: 0x1030, Equations: frame.Equations(), Encoding: "0x01000000"},
	}
	return &inspect.Tables{
		Version: "1", Functions: 2, Problems: []string{"one"},
		Coverage: unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x1010}, unwind.Range{Start: 0x1020, End: 0x1030}),
		Rows: func(yield func(inspect.Row) bool) {
			for _, r := range rows {
				*yielded++
				if !yield(r) {
					return
				}
			}
		},
	}
}

// TestLookup: an address's row, none in a gap, and no row is read in vain.
func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		addr, start uint64
		yielded     int
	}{{0xfff, 0, 1}, {0x1000, 0x1000, 1}, {0x100f, 0x1000, 1}, {0x1010, 0, 2}, {0x102f, 0x1020, 2}, {0x1030, 0, 2}} {
		yielded := 0
		row, ok := tables(&yielded).Lookup(tt.addr)
		if ok != (tt.start != 0) || row.Start != tt.start || yielded != tt.yielded {
			t.Errorf("%#x: row at %#x, %v, after %d rows; want %#x after %d", tt.addr, row.Start, ok, yielded, tt.start, tt.yielded)
		}
	}
	yielded := 0
	if n := tables(&yielded).Count(); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestReport: how a file is reported, of one image and of several.
func TestReport(t *testing.T) {
	yielded := 0
	code := unwind.NewRangeSet(unwind.Range{Start: 0x1008, End: 0x1028})
	format := inspect.NewFormatReport("sframe", tables(&yielded), code)
	const formats = `[{"format":"sframe","version":"1","functions":2,"rows":2,"coveredBytes":16,"executableBytes":32,"problems":["one"]}]`
	image := inspect.ImageReport{Arch: "amd64", Formats: []inspect.FormatReport{format}}
	for _, tt := range []struct {
		report inspect.Report
		want   string
	}{
		{inspect.Report{File: "a", ImageReport: image}, `{"file":"a","arch":"amd64","formats":` + formats + `}`},
		{inspect.Report{File: "a"}, `{"file":"a","formats":[]}`},
		{inspect.Report{File: "a", Images: []inspect.ImageReport{image}}, `{"file":"a","images":[{"arch":"amd64","formats":` + formats + `}]}`},
	} {
		if got := text(t, tt.report); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
	empty := inspect.NewFormatReport("sframe", &inspect.Tables{Rows: func(func(inspect.Row) bool) {}}, nil)
	if got := text(t, empty); got != `{"format":"sframe","functions":0,"rows":0,"coveredBytes":0,"executableBytes":0,"problems":[]}` {
		t.Error(got)
	}
}

// TestRowReport: rows as lines of JSON, what is empty left out.
func TestRowReport(t *testing.T) {
	yielded := 0
	var got []string
	for row := range tables(&yielded).Rows {
		got = append(got, text(t, inspect.NewRowReport("compactunwind", unwind.AMD64, "f", &row)))
	}
	got = append(got, text(t, inspect.NewRowReport("compactunwind", unwind.ARM64, "", &inspect.Row{Start: 1, End: 2, Delegate: "dwarfcfi"})))
	for i, want := range []string{
		`{"format":"compactunwind","arch":"amd64","function":"f","start":"0x1000","end":"0x1010","cfa":"rsp+8","ra":"[cfa-8]","fp":"unchanged","saved":{"rbx":"[cfa-16]"},"flags":["signal"]}`,
		`{"format":"compactunwind","arch":"amd64","function":"f","start":"0x1020","end":"0x1030","cfa":"rbp+16","ra":"[cfa-8]","fp":"[cfa-16]","encoding":"0x01000000"}`,
		`{"format":"compactunwind","arch":"arm64","start":"0x1","end":"0x2","delegate":"dwarfcfi"}`,
	} {
		if got[i] != want {
			t.Errorf("%s\nwant %s", got[i], want)
		}
	}
}
