package snapshot_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	. "github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

func validLines(t testing.TB) [][]byte {
	data, err := os.ReadFile("testdata/valid.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

func TestValidSnapshots(t *testing.T) {
	var got []*Snapshot
	for _, line := range validLines(t) {
		if err := schematest.Check(schema.Snapshot, line); err != nil {
			t.Errorf("the schema refuses %s: %v", line, err)
		}
		s, err := Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, s)
	}

	amd := got[0]
	if amd.Arch != unwind.AMD64 || amd.OS != "linux" || amd.ByteOrder != binary.LittleEndian || len(amd.Threads) != 2 {
		t.Fatalf("%+v", amd)
	}
	wantImages := []Image{
		{Path: "bin/app", End: 0x452000, BuildID: []byte{0x0a, 0x1b, 0x2c, 0x3d}},
		{Path: "/usr/lib/libc.so.6", Base: 0x7f0000000000},
	}
	if !reflect.DeepEqual(amd.Images, wantImages) {
		t.Errorf("images %+v", amd.Images)
	}
	if set, known := amd.Executable(); !known || !reflect.DeepEqual(set, unwind.RangeSet{{Start: 0x401000, End: 0x452000}}) {
		t.Errorf("executable %v, %v", set, known)
	}
	first, second := amd.Threads[0], amd.Threads[1]
	if first.ID != 4242 || first.Goroutine != 1 || first.FirstPC != unwind.KindInstruction || first.Registers.Len() != 5 {
		t.Errorf("%+v", first)
	}
	if v, ok := first.Registers.Get(unwind.AMD64R12); !ok || v != 1<<64-1 {
		t.Errorf("r12 = %#x, %v", v, ok)
	}
	if v, ok := first.Registers.Get(unwind.AMD64RBX); !ok || v != 0 {
		t.Errorf("rbx = %#x, %v; zero is a value", v, ok)
	}
	if len(first.Segments) != 2 || first.Segments[1] != (unwind.Segment{Low: 0xc000000000, High: 0xc000002000, Kind: unwind.SegmentGoroutine}) {
		t.Errorf("segments %+v", first.Segments)
	}
	if len(first.Claims) != 2 || first.Claims[0].Trust != unwind.TrustContext || first.Claims[0].CFA != 0x7ffe1020 ||
		first.Claims[0].Function != "std::vector<int>::at" || first.Claims[1].DelveFrame != 1 || !first.Claims[1].Inlined ||
		first.Claims[1].Trust != unwind.TrustNone || first.Claims[1].PC != unwind.Code(0x401200, unwind.KindReturn) {
		t.Errorf("claims %+v", first.Claims)
	}
	if second.FirstPC != unwind.KindReturn || second.Goroutine != 7 || second.ID != 0 || second.Segments != nil || second.Claims != nil {
		t.Errorf("%+v", second)
	}
	mem, err := amd.Target()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]uint64{0x7ffe1000: 1, 0x7ffe100c: 0x7ffe1030 << 32, 0x7ffe1018: 0x401200, 0x7ffe1020: 3} {
		if v, err := unwind.ReadWord(mem, addr, 8, amd.ByteOrder); err != nil || v != want {
			t.Errorf("word at %#x = %#x, %v, want %#x", addr, v, err, want)
		}
	}
	if _, err := unwind.ReadWord(mem, 0x7ffe1021, 8, amd.ByteOrder); !errors.Is(err, ErrNotInSnapshot) {
		t.Errorf("a word behind the memory: %v", err)
	}

	s390, arm, x86, darwin := got[1], got[2], got[3], got[4]
	if v, _ := s390.Threads[0].Registers.SP(unwind.S390X); v != 0x3ffe000 || s390.ByteOrder != binary.BigEndian {
		t.Errorf("s390x: sp %#x, %v", v, s390.ByteOrder)
	}
	if _, known := s390.Executable(); known {
		t.Error("mappings are known without maps")
	}
	if set, known := arm.Executable(); !known || len(set) != 0 {
		t.Error("empty maps say that nothing is executable")
	}
	if arm.ByteOrder != binary.BigEndian || arm.PACMask != 0x7f000000000000 {
		t.Errorf("arm64: %v, %#x", arm.ByteOrder, arm.PACMask)
	}
	if len(x86.Memory[0].Data) != 16 {
		t.Error("memory up to the end of 32 bits")
	}
	if darwin.OS != "darwin" || darwin.Threads[0].Segments == nil || len(darwin.Memory[0].Data) != 0 {
		t.Errorf("darwin: %+v", darwin)
	}
}

// Writing what was read makes the same snapshot and satisfies the schema; fields
// that are unknown are gone, and the order of fields does not matter.
func TestMarshalValidSnapshots(t *testing.T) {
	for _, line := range validLines(t) {
		s, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		out := marshal(t, s)
		if bytes.Contains(out, []byte("futureField")) || bytes.Contains(out, []byte("\n")) {
			t.Errorf("%s", out)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if !bytes.Equal(marshal(t, again), out) {
			t.Errorf("not stable: %s", out)
		}
	}
}

func marshal(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	out, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.CheckOutput(schema.Snapshot, out); err != nil {
		t.Fatalf("%s\n%v", out, err)
	}
	return out
}

// with returns a small valid snapshot with fields put in or replaced (given as
// JSON), and without those given as "".
func with(fields map[string]string) string {
	all := map[string]string{
		"version": `1`, "arch": `"amd64"`, "os": `"linux"`, "images": `[]`,
		"threads": `[{"registers":{"rip":"0x1"}}]`, "memory": `[]`,
	}
	for k, v := range fields {
		all[k] = v
	}
	var parts []string
	// Threads come first: their registers are read when the architecture is known.
	for _, k := range []string{"threads", "expect", "pacMask", "maps", "byteOrder", "memory", "images", "os", "arch", "version"} {
		if all[k] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", k, all[k]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func window(addr uint64, data string) string {
	return fmt.Sprintf(`{"address":"%#x","data":%q}`, addr, base64.StdEncoding.EncodeToString([]byte(data)))
}

func thread(fields string) string { return `[{"registers":{"rip":"0x1"},` + fields + `}]` }

const notAddress = " is not an address (0x and lower-case digits without leading zeros, at most 64 bits)"

func TestParseErrors(t *testing.T) {
	tests := []struct {
		field, value, want string
		beyondSchema       bool
	}{
		{"version", ``, "version: required, and not there", false},
		{"version", `2`, "version: version 2 of the snapshot format is not known here, only version 1 is", false},
		{"version", `"1"`, "version: expected a number, found a string", false},
		{"arch", ``, "arch: required, and not there", false},
		{"arch", `"x86_64"`, `arch: unknown architecture "x86_64" (known: amd64, arm64, 386, s390x)`, false},
		{"arch", `"arm"`, `arch: unknown architecture "arm" (known: amd64, arm64, 386, s390x)`, false},
		{"byteOrder", `"middle"`, `byteOrder: unknown byte order "middle" (known: little, big)`, false},
		{"os", `"windows"`, `os: unknown operating system "windows" (known: linux, darwin)`, false},
		{"os", `null`, "os: required, and not there", false},
		{"images", `{}`, "images: expected an array, found an object", false},
		{"images", `[{"base":"0x0"}]`, "images[0].path: required, and not there", false},
		{"images", `[{"path":"a","base":"0x0"},{"path":"","base":"0x0"}]`, "images[1].path: an image needs a path", false},
		{"images", `[{"path":"a","base":"0x2000","end":"0x1000"}]`, "images[0].end: the image ends at 0x1000, before its base 0x2000", true},
		{"images", `[{"path":"a","base":"4096"}]`, `images[0].base: "4096"` + notAddress, false},
		{"images", `[{"path":"a","base":"0x0","buildID":"0A"}]`, `images[0].buildID: "0A" is not a build ID (lower-case hex, whole bytes, at least one)`, false},
		{"images", `[{"path":"a","base":"0x0","buildID":"abc"}]`, `images[0].buildID: "abc" is not a build ID (lower-case hex, whole bytes, at least one)`, false},
		{"maps", `[{"start":"0x2000","end":"0x1000","perm":"r-xp"}]`, "maps[0].end: the mapping ends at 0x1000, before it starts at 0x2000", true},
		{"maps", `[{"start":"0x1000","end":"0x2000","perm":"rx"}]`, `maps[0].perm: "rx" are no permissions; they look like r-xp`, false},
		{"pacMask", `127`, "pacMask: expected a string, found a number", false},
		{"pacMask", `"0x07"`, `pacMask: "0x07"` + notAddress, false},
		{"threads", ``, "threads: required, and not there", false},
		{"threads", `[{}]`, "threads[0].registers: required, and not there", false},
		{"threads", `[{"registers":{"rsp":"0x1"}}]`, "threads[0].registers: the program counter rip is missing", false},
		{"threads", `[{"registers":{"rip":"0x1"}},{"registers":{"rip":"0x1","x0":"0x2"}}]`, `threads[1].registers.x0: amd64 has no register "x0"`, true},
		{"threads", `[{"registers":{"rip":1}}]`, "threads[0].registers.rip: expected a string, found a number", false},
		{"threads", `[{"registers":{"rip":"0xG"}}]`, `threads[0].registers.rip: "0xG"` + notAddress, false},
		{"threads", `[{"registers":{"rip":"0x1","rip":"0x1"}}]`, "threads[0].registers.rip: is there twice", true},
		{"threads", thread(`"id":-1`), "threads[0].id: expected a whole number from 0 to 18446744073709551615, found -1", false},
		{"threads", thread(`"firstPC":"ra"`), `threads[0].firstPC: unknown kind of PC "ra" (known: instruction, return)`, false},
		{"threads", thread(`"segments":[{"low":"0x2000","high":"0x1000","kind":"g0"}]`),
			"threads[0].segments[0].high: the segment ends at 0x1000, before it begins at 0x2000", true},
		{"threads", thread(`"segments":[{"low":"0x1000","high":"0x2000","kind":"heap"}]`),
			`threads[0].segments[0].kind: unknown kind of stack segment "heap" (known: thread, goroutine, g0, signal)`, false},
		{"threads", thread(`"claims":[{"kind":"pc"}]`), "threads[0].claims[0].pc: required, and not there", false},
		{"threads", thread(`"claims":[{"kind":"pc","pc":"0x1"},{"kind":"async","pc":"0x1"}]`), "threads[0].claims[1].kind: an async frame cannot be unwound", false},
		{"threads", thread(`"claims":[{"kind":"pc","pc":"0x1","registers":{"eip":"0x1"}}]`), `threads[0].claims[0].registers.eip: amd64 has no register "eip"`, true},
		{"memory", `[{"address":"0x1000"}]`, "memory[0].data: required, and not there", false},
		{"memory", `[{"address":"0x1000","data":"AAA"}]`, "memory[0].data: not base64 from character 0 of 3 on", false},
		{"memory", `[{"address":"0x1000","data":"AA-_"}]`, "memory[0].data: not base64 from character 2 of 4 on", false},
		{"memory", `[{"address":"0x1000","data":[0]}]`, "memory[0].data: expected a string, found an array", false},
		{"memory", `[` + window(0x1000, "abcd") + `,` + window(0x5000, "x") + `,` + window(0xffe, "ZZaX") + `]`,
			"memory[2].data: the byte at 0x1001 is 0x58 here and 0x62 in memory[0]: one of them is wrong", true},
		{"memory", `[{"address":"0xfffffffffffffffe","data":"AAAA"}]`, "memory[0].data: 3 bytes at 0xfffffffffffffffe go beyond the end of the address space", true},
		{"expect", `{"stacks":[{"frames":[{"trust":"high"}]}]}`,
			`expect.stacks[0].frames[0].trust: unknown trust "high" (known: context, cfi, frame-pointer, scan)`, false},
		{"expect", `[]`, "expect: expected an object, found an array", false},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			doc := with(map[string]string{tt.field: tt.value})
			s, err := Parse([]byte(doc))
			if err == nil || err.Error() != tt.want || s != nil {
				t.Errorf("%s\n got %v, %v\nwant %s", doc, s, err, tt.want)
			}
			var field *FieldError
			if !errors.As(err, &field) || !strings.HasPrefix(tt.want, field.Path+": ") {
				t.Errorf("%T has no path", err)
			}
			// The schema refuses it too, as far as a schema can.
			if (schematest.Check(schema.Snapshot, []byte(doc)) == nil) != tt.beyondSchema {
				t.Errorf("%s\nthe schema accepts it: %v", doc, !tt.beyondSchema)
			}
		})
	}
	if _, err := Parse([]byte(with(nil))); err != nil {
		t.Errorf("the snapshot that the cases change is wrong itself: %v", err)
	}
}

func TestParse32BitErrors(t *testing.T) {
	tests := []struct{ threads, memory, want string }{
		{`[{"registers":{"eip":"0x100000000"}}]`, `[]`, "threads[0].registers.eip: 0x100000000 is more than register eip of 386 can hold"},
		{`[]`, `[{"address":"0xfffffffd","data":"AAAAAA=="}]`, "memory[0].address: 4 bytes at 0xfffffffd go beyond 32 bits"},
		{`[]`, `[{"address":"0x100000000","data":""}]`, "memory[0].address: 0 bytes at 0x100000000 go beyond 32 bits"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(with(map[string]string{"arch": `"386"`, "threads": tt.threads, "memory": tt.memory})))
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestVersionErrorIsTyped(t *testing.T) {
	_, err := Parse([]byte(with(map[string]string{"version": "7"})))
	var version *VersionError
	if !errors.As(err, &version) || version.Version != 7 {
		t.Error(err)
	}
}

// What cannot be read is not written.
func TestMarshalRefuses(t *testing.T) {
	var regs unwind.Registers
	regs.Set(unwind.AMD64RIP, 1)
	good := func() *Snapshot {
		return &Snapshot{Arch: unwind.AMD64, OS: "linux", Threads: []unwind.Thread{{Registers: regs}}}
	}
	if _, err := Parse(marshal(t, good())); err != nil {
		t.Fatal(err)
	}
	for path, spoil := range map[string]func(*Snapshot){
		"arch":                 func(s *Snapshot) { s.Arch = unwind.ARM },
		"os":                   func(s *Snapshot) { s.OS = "" },
		"images[0].path":       func(s *Snapshot) { s.Images = []Image{{}} },
		"maps[0].end":          func(s *Snapshot) { s.Maps = []Map{{Perm: "r-xp"}} },
		"threads[0].registers": func(s *Snapshot) { s.Threads[0].Registers = unwind.Registers{} },
		"threads[0].registers.eax": func(s *Snapshot) {
			s.Arch = unwind.I386
			s.Threads[0].Registers.Set(8, 1)
			s.Threads[0].Registers.Set(0, 1<<32)
		},
		"threads[0].segments[0].high": func(s *Snapshot) { s.Threads[0].Segments = []unwind.Segment{{Low: 1}} },
		"memory[1].data":              func(s *Snapshot) { s.Memory = []unwind.Window{{Addr: 1, Data: []byte{1}}, {Addr: 1, Data: []byte{2}}} },
	} {
		s := good()
		spoil(s)
		out, err := s.Marshal()
		var field *FieldError
		if !errors.As(err, &field) || field.Path != path || out != nil {
			t.Errorf("%s: %s, %v", path, out, err)
		}
	}
}

func TestExpectIsKept(t *testing.T) {
	const doc = `{"stacks":[{"frames":[{"index":0,"function":"a<b>"},{}]}],"new":1}`
	s, err := Parse([]byte(with(map[string]string{"expect": " " + strings.ReplaceAll(doc, ":", " : ")})))
	if err != nil {
		t.Fatal(err)
	}
	if out := marshalOpen(t, s); !strings.Contains(string(out), `"expect":`+doc) {
		t.Errorf("%s", out)
	}
	found, err := stackjson.Match(*s.Expect, stackjson.FromStacks(s.Arch, make([]unwind.Stack, 1), false))
	if err != nil || len(found) != 1 || found[0].Path != "stacks[0].frames.length" {
		t.Errorf("%v, %v", found, err)
	}
}

// marshalOpen is marshal for a snapshot whose expectation has fields that the
// schema does not name.
func marshalOpen(t *testing.T, s *Snapshot) []byte {
	out, err := s.Marshal()
	if err == nil {
		err = schematest.Check(schema.Snapshot, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResolvePath(t *testing.T) {
	tests := []struct{ path, dir, root, want string }{
		{"bin/app", "/snaps", "", "/snaps/bin/app"},
		{"bin/app", ".", "/sysroot", "bin/app"},
		{"../app", "/snaps/x", "/sysroot", "/snaps/app"},
		{"/usr/lib/libc.so", "/snaps", "", "/usr/lib/libc.so"},
		{"/usr/lib/libc.so", "/snaps", "/sysroot", "/sysroot/usr/lib/libc.so"},
		{"/../../etc/passwd", "/snaps", "/sysroot", "/sysroot/etc/passwd"},
		{"[vdso]", "/snaps", "/sysroot", ""},
		{"", "/snaps", "/sysroot", ""},
	}
	for _, tt := range tests {
		if got := ResolvePath(tt.path, tt.dir, tt.root); got != tt.want {
			t.Errorf("ResolvePath(%q, %q, %q) = %q, want %q", tt.path, tt.dir, tt.root, got, tt.want)
		}
	}
}
