package table

import (
	"bufio"
	"debug/macho"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// described is what clang says of a function for 32-bit x86: its encoding, and
// its last DWARF row, which is that of its body.
type described struct {
	encoding Encoding
	cfa      string
	saved    []string
}

var (
	objectStart    = regexp.MustCompile(`^\s+start:\s+(0x[0-9a-f]+) _`)
	objectEncoding = regexp.MustCompile(`^\s+compact encoding:\s+(0x[0-9a-f]+)`)
	objectFDE      = regexp.MustCompile(` FDE cie=\S+ pc=1?([0-9a-f]{8})\.\.\.`)
	objectRow      = regexp.MustCompile(`^\s+0x[0-9a-f]+: CFA=([A-Z]+)(\+[0-9]+): (.*)$`)
)

// darwinNames are llvm-dwarfdump's names of the registers, which does not know
// that Darwin's call-frame information for 32-bit x86 has ebp and esp the other
// way round.
var darwinNames = map[string]string{"ESP": "ebp", "EBP": "esp", "EBX": "ebx", "ESI": "esi", "EDI": "edi"}

// readObject reads what llvm-objdump and llvm-dwarfdump print of an object file.
func readObject(t *testing.T, path string) map[uint32]*described {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := func(s string, base int) uint32 {
		v, err := strconv.ParseUint(s, base, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	all := map[uint32]*described{}
	var at *described
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if m := objectStart.FindStringSubmatch(line); m != nil {
			at = &described{}
			all[number(m[1], 0)] = at
		} else if m := objectEncoding.FindStringSubmatch(line); m != nil {
			at.encoding = Encoding(number(m[1], 0))
		} else if m := objectFDE.FindStringSubmatch(line); m != nil {
			if at = all[number(m[1], 16)]; at == nil {
				t.Fatalf("no encoding for %s", line)
			}
		} else if m := objectRow.FindStringSubmatch(line); m != nil {
			at.cfa, at.saved = darwinNames[m[1]]+m[2], nil
			for place := range strings.SplitSeq(m[3], ", ") {
				register, where, _ := strings.Cut(place, "=")
				if register != "EIP" {
					at.saved = append(at.saved, darwinNames[register]+"="+strings.ToLower(where))
				} else if where != "[CFA-4]" {
					t.Fatalf("return address: %s", line)
				}
			}
			slices.Sort(at.saved)
		}
	}
	return all
}

// TestI386Objects: no linker at hand makes images for 32-bit x86, but clang makes
// objects. Their encodings say the same as their call-frame information, in which
// the compiler tells it a second time.
func TestI386Objects(t *testing.T) {
	modes := map[uint32]int{}
	for _, path := range []string{"testdata/i386-O2-nofp", "testdata/i386-Os"} {
		object, err := macho.Open(path + ".o")
		if err != nil {
			t.Fatal(err)
		}
		defer object.Close()
		text, err := object.Section("__text").Data()
		if err != nil {
			t.Fatal(err)
		}
		for start, want := range readObject(t, path+".txt") {
			r, err := want.encoding.Decode(unwind.I386, (&library{text: text}).code(start))
			modes[want.encoding.mode()]++
			if err != nil {
				t.Errorf("%s: at %#x: %v", path, start, err)
			}
			if err != nil || want.encoding.mode() == x86DWARF {
				continue
			}
			var saved []string
			for _, s := range savedBy(&r) {
				saved = append(saved, fmt.Sprintf("%s=[cfa%+d]", unwind.I386.RegisterName(s.Register), s.Offset))
			}
			slices.Sort(saved)
			if cfa := fmt.Sprintf("%s%+d", unwind.I386.RegisterName(r.CFA.Register), r.CFA.Offset); cfa != want.cfa || !slices.Equal(saved, want.saved) {
				t.Errorf("%s: at %#x: encoding %#x is cfa=%s %v, call-frame information says cfa=%s %v", path, start, uint32(want.encoding), cfa, saved, want.cfa, want.saved)
			}
		}
	}
	if modes[x86Frame] < 10 || modes[x86Immediate] < 5 || modes[x86Indirect] < 2 {
		t.Errorf("modes %v", modes)
	}
	t.Logf("modes %v", modes)
}
