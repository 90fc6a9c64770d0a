package mutated

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// compiled is a library with debugging information.
func compiled(t *testing.T) []byte {
	t.Helper()
	cc, dir := testneed.CC(t), t.TempDir()
	source, path := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.so")
	if err := os.WriteFile(source, []byte("struct s { int a; struct s *next; };\nstatic int g(struct s *p) { return p ? p->a + g(p->next) : 0; }\nint f(struct s *p) { return g(p) + g(p->next); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-g", "-O1", "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// numbersOf counts the numbers of a table with a meaning, and says whether the table is there.
func numbersOf(in input, table, meaning string) int {
	for _, p := range in.parts {
		if p.name == table {
			return len(p.fields[meaning])
		}
	}
	return -1
}

// TestMeanings: the tables of a library are read as debug/elf and debug/dwarf read them.
func TestMeanings(t *testing.T) {
	data := compiled(t)
	in := newInput("x.so", data).byMeaning()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(in, "section headers", "offset8"); got != len(f.Sections) {
		t.Errorf("%d section headers of %d", got, len(f.Sections))
	}
	if got := numbersOf(in, "program headers", "filesz8"); got != len(f.Progs) {
		t.Errorf("%d program headers of %d", got, len(f.Progs))
	}
	if symbols, err := f.Symbols(); err != nil || numbersOf(in, ".symtab", "value8") != len(symbols)+1 {
		t.Errorf("%d symbols of %d, %v", numbersOf(in, ".symtab", "value8"), len(symbols)+1, err)
	}
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	entries := 0 // with the ends of lists of children
	for r := d.Reader(); ; entries++ {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
	}
	if got := numbersOf(in, ".debug_info", "code"); got != entries {
		t.Errorf("%d entries of %d", got, entries)
	}
	for _, p := range in.parts {
		for meaning, fields := range p.fields {
			for _, f := range fields {
				if f.Off < p.area.from || f.Off+f.Size > p.area.to || f.Size < 1 {
					t.Fatalf("%s, %s: %+v is not in %+v", p.name, meaning, f, p.area)
				}
			}
		}
	}
	if got := numbersOf(in, ".eh_frame", "range"); got < 2 {
		t.Errorf("%d FDEs", got)
	}
	if numbersOf(in, ".debug_line", "opcode") < 10 || numbersOf(in, ".debug_abbrev", "form") < 10 {
		t.Errorf("line table or abbreviations are not read")
	}
}

// TestMeaningsOfPrebuilt: the tables of SFrame and of compact unwind have as many functions and pages as their headers say.
func TestMeaningsOfPrebuilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, version := range []string{"v1", "v2", "v3"} {
		if err := program.UnpackSFrame(path, version, ""); err != nil {
			t.Fatal(err)
		}
		in := read(t, path)
		for _, p := range in.parts {
			if p.name == ".sframe" {
				functions, rows := p.fields["functions"][0].Get(in.data), p.fields["rows"][0].Get(in.data)
				if f, r := len(p.fields["first row"]), len(p.fields["row's info"]); uint64(f) != functions || uint64(r) != rows || f < 5 {
					t.Errorf("%s: %d functions of %d, %d rows of %d", version, f, functions, r, rows)
				}
			}
		}
	}
	if err := program.UnpackMachO(path, "omit"); err != nil {
		t.Fatal(err)
	}
	f, err := macho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if in := read(t, path); numbersOf(in, "__unwind_info", "entry's start") < 5 || numbersOf(in, "load commands", "command") != len(f.Loads) {
		t.Errorf("%d entries, %d load commands of %d", numbersOf(in, "__unwind_info", "entry's start"), numbersOf(in, "load commands", "command"), len(f.Loads))
	}
}

func read(t *testing.T, path string) input {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return newInput(filepath.Base(path), data).byMeaning()
}

// TestChangeMeanings: damage by meaning changes the tables only, never the original, and most changes leave a file that
// can still be opened.
func TestChangeMeanings(t *testing.T) {
	data := compiled(t)
	in := newInput("x.so", bytes.Clone(data)).byMeaning()
	opened, grown := 0, 0
	for seed := range uint64(300) {
		rng := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
		one := in.damage(rng(), nil)
		if !bytes.Equal(one, in.damage(rng(), nil)) || !bytes.Equal(in.data, data) {
			t.Fatalf("seed %d: not repeatable", seed)
		}
		if len(one) > len(data) {
			grown++
		}
		f, err := elf.NewFile(bytes.NewReader(one))
		if err != nil {
			continue
		}
		opened++
		if d, err := f.DWARF(); err == nil {
			useOf(d)
		}
	}
	if opened < 150 || grown < 20 {
		t.Errorf("%d of 300 can be opened, %d have grown", opened, grown)
	}
}

// useOf reads the first unit.
func useOf(d *dwarf.Data) {
	if e, err := d.Reader().Next(); err == nil && e != nil {
		_, _ = d.LineReader(e)
	}
}

// TestLEB: numbers of seven bits a byte keep their width.
func TestLEB(t *testing.T) {
	data := []byte{0x85, 0x80, 0x00, 0x7f}
	c := cursor{data: data, end: len(data), part: &part{}}
	if v := c.leb("x"); v != 5 || c.at != 3 {
		t.Errorf("%d at %d", v, c.at)
	}
	f := c.part.fields["x"][0]
	f.Put(data, 1<<21-1)
	if f.Get(data) != 1<<21-1 || data[3] != 0x7f || data[2]&0x80 != 0 {
		t.Errorf("% x", data)
	}
}

// TestUndamaged: the commands take what is not damaged, so that damage is what they refuse; the stacks reach the library. In a core
// file another thread may be in the C library, which is not there: its stack is truncated.
func TestUndamaged(t *testing.T) {
	folder, p := readied(t)
	for _, k := range p.kinds() {
		if !strings.HasPrefix(k.name, "`unwind`") && !strings.HasPrefix(k.name, "`stack --") || strings.Contains(k.name, "connect") || strings.Contains(k.name, "debuginfod") {
			continue
		}
		for _, in := range k.inputs {
			own := filepath.Join(folder, "own")
			if err := os.MkdirAll(own, 0o755); err != nil {
				t.Fatal(err)
			}
			o := k.run(own, in, append(bytes.Clone(in.whole), in.data...))
			truncated := o.code == 3 && strings.HasPrefix(k.name, "`stack --core`")
			if o.failure != "" || o.code != 0 && !truncated || strings.Contains(o.output, "stopped by itself") {
				t.Errorf("%s, %s: exit code %d, %s %s", k.name, in.name, o.code, o.failure, o.output)
			}
			_ = os.RemoveAll(own)
		}
	}
}
