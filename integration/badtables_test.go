package integration

import (
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// fde is where an FDE's parts lie in .eh_frame.
type fde struct{ length, start, size, code, end int }

// fdes lists the FDEs of a library whose CIEs have the augmentation "zR" with
// 4-byte pointers, as gcc writes them.
func fdes(t testing.TB, frame []byte) (out []fde) {
	t.Helper()
	for at := 0; at+4 <= len(frame); {
		n := int(binary.LittleEndian.Uint32(frame[at:]))
		if n == 0 {
			break
		}
		f := fde{length: at, start: at + 8, size: at + 12, code: at + 17, end: at + 4 + n}
		if f.end > len(frame) {
			t.Fatalf("entry at %#x reaches beyond the section", at)
		}
		if binary.LittleEndian.Uint32(frame[at+4:]) != 0 && frame[at+16] == 0 {
			out = append(out, f)
		}
		at = f.end
	}
	if len(out) < 5 {
		t.Fatalf("%d FDEs", len(out))
	}
	return out
}

// TestBadTables: a library whose call-frame information is damaged or lies. No
// frame above a scan is wrong, and the stack shows the refused candidates.
func TestBadTables(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	objcopy := testneed.Tool(t, "objcopy")
	v := program.Variant{Name: "opened-O2-omit-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Opened, Stripped: true}
	whole := build(t, v)
	f, err := elf.Open(whole.Library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	good, err := f.Section(".eh_frame").Data()
	if err != nil {
		t.Fatal(err)
	}
	instructions := func(frame []byte, code ...byte) {
		for _, e := range fdes(t, good) {
			if e.end-e.code < len(code) {
				continue
			}
			clear(frame[e.code:e.end]) // DW_CFA_nop
			copy(frame[e.code:], code)
		}
	}
	const (
		defCFA, defCFAOffset, defCFAExpression, expression = 0x0c, 0x0e, 0x0f, 0x10
		skip, lit0, breg7                                  = 0x2f, 0x30, 0x77
		rax, rsp, ra                                       = 0, 7, 16
	)
	for _, c := range []struct {
		name   string
		damage func(frame []byte)
		words  string // in the notes, or in a rejected candidate's or the end's reason
	}{
		{"an entry longer than the section", func(frame []byte) { binary.LittleEndian.PutUint32(frame[fdes(t, good)[0].length:], 0x7fffffff) }, ".eh_frame"},
		{"an unknown instruction", func(frame []byte) { instructions(frame, 0x3d) }, ".eh_frame"},
		{"an instruction that is cut off", func(frame []byte) {
			for _, e := range fdes(t, good) {
				frame[e.end-1] = defCFA
			}
		}, ".eh_frame"},
		{"FDEs of all addresses", func(frame []byte) {
			for _, e := range fdes(t, good) {
				binary.LittleEndian.PutUint32(frame[e.size:], 0x7fffffff)
			}
		}, "lies outside the image's code"},
		{"FDEs that overlap", func(frame []byte) {
			for _, e := range fdes(t, good) {
				binary.LittleEndian.PutUint32(frame[e.size:], 0x40)
			}
		}, "overlaps"},
		{"a CFA that does not move", func(frame []byte) { instructions(frame, defCFAOffset, 0) }, "dwarfcfi"},
		{"a CFA far away", func(frame []byte) { instructions(frame, defCFAOffset, 0xf0, 0xff, 0x03) }, "dwarfcfi"},
		{"a CFA at 0", func(frame []byte) { instructions(frame, defCFAExpression, 1, lit0) }, "dwarfcfi"},
		{"a CFA of an unknown register", func(frame []byte) { instructions(frame, defCFA, rax, 8) }, "dwarfcfi"},
		{"an expression without end", func(frame []byte) { instructions(frame, defCFAExpression, 3, skip, 0xfd, 0xff) }, "dwarfcfi"},
		{"a return address in memory that cannot be read", func(frame []byte) { instructions(frame, expression, ra, 1, lit0) }, "dwarfcfi"},
		{"an expression that is cut off", func(frame []byte) { instructions(frame, defCFAExpression, 1, breg7) }, "dwarfcfi"},
		{"noise", func(frame []byte) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, e := range fdes(t, good) {
				for i := e.code; i < e.end; i++ {
					frame[i] = byte(r.Uint32())
				}
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			frame := append([]byte(nil), good...)
			c.damage(frame)
			write(t, filepath.Join(folder, "frame"), frame)
			p := whole
			p.Library = filepath.Join(folder, filepath.Base(whole.Library))
			if out, err := exec.Command(objcopy, "--update-section", ".eh_frame="+filepath.Join(folder, "frame"), whole.Library, p.Library).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if o := clew(t, "inspect", p.Library); c.words == ".eh_frame" && (o.code != failed || !strings.Contains(o.stderr, ".eh_frame") || o.stdout == "") {
				t.Errorf("clew inspect prints the good part and reports the fault: %v", o)
			}
			blind := v
			blind.Undescribed = true
			s := launch(t, p, "callback", "int3", "--format", "json")
			s.check(t, blind, scenarioNamed(t, "callback").Groups)
			if c.words != "" && !strings.Contains(s.stdout, c.words) {
				t.Errorf("the stack does not say %q: %v", c.words, s)
			}
		})
	}
}

func scenarioNamed(t testing.TB, name string) program.Scenario {
	t.Helper()
	for _, s := range program.Scenarios {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scenario %s", name)
	return program.Scenario{}
}
