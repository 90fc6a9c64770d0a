package symbols_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

const throwingSource = `
extern "C" int may(int);
struct held { int n; held(int n) : n(may(n)) {} ~held() { may(n); } };
int caught(int x) { try { held a(x); return may(a.n); } catch (int e) { return e + x; } }
int nested(int x, int y) { held a(x); try { held b(y); return may(b.n) * may(a.n); } catch (long e) { return int(e) * y; } }
int many(int x) { held a(x); held b(x + 1); volatile int room[40]; room[x & 7] = may(x); held c(room[3]); return may(c.n) + a.n + b.n; }
int plain(int x) { volatile int room[9]; room[1] = may(x); return room[1] + may(x + 1); }
`

// TestLandingPads: code that only exceptions lead to has the frame that .eh_frame has, where that
// was removed; it has no rule where .gcc_except_table was removed too.
func TestLandingPads(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	cc := testneed.Tool(t, "g++")
	testneed.Tool(t, "objcopy")
	dir := t.TempDir()
	source, full := filepath.Join(dir, "a.cc"), filepath.Join(dir, "full.so")
	if err := os.WriteFile(source, []byte(throwingSource), 0o600); err != nil {
		t.Fatal(err)
	}
	strip := []string{"objcopy", "--strip-all", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", full}
	bare, none := filepath.Join(dir, "bare.so"), filepath.Join(dir, "none.so")
	for _, command := range [][]string{{cc, "-O2", "-fPIC", "-shared", "-o", full, source}, append(strip, bare), append(strip, none, "--remove-section=.gcc_except_table")} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	if unknown, wrong := comparedWithFrames(t, full, bare); unknown != 0 || wrong != 0 {
		t.Errorf("%d instructions have no rule, %d a wrong one", unknown, wrong)
	}
	if unknown, wrong := comparedWithFrames(t, full, none); unknown == 0 || wrong != 0 {
		t.Errorf("without landing pads: %d instructions have no rule, %d a wrong one", unknown, wrong)
	}
}

// comparedWithFrames compares the CFA that the model of a stripped library has at each instruction with
// that of the whole one's .eh_frame, within .text.
func comparedWithFrames(t *testing.T, full, stripped string) (unknown, wrong int) {
	t.Helper()
	f, err := elf.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section, text := f.Section(".eh_frame"), f.Section(".text")
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	library, err := symbols.Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	table := cfi.New(cfi.Section{Name: section.Name, Addr: section.Addr, Data: data}, cfi.Options{Arch: unwind.AMD64})
	var d prologue.Decoder
	for fde := range table.All() {
		if fde.Start < text.Addr || fde.End > text.Addr+text.Size {
			continue
		}
		if err := table.Rows(&fde, func(row *cfi.Row) bool {
			want := row.Rule()
			for pc := row.Start; pc < row.End; {
				code := library.Code(pc, int(row.End-pc))
				if prologue.Padding(unwind.AMD64, code) == 0 {
					switch p, ok := placeAt(library, pc); {
					case !ok || p.Proof < prologue.Some:
						unknown++
					case p.Rule.CFA != want.CFA && want.CFA != rule.In(unwind.AMD64RSP, p.Height):
						wrong++
					}
				}
				pc += uint64(max(d.AMD64(code, pc).Len, 1))
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	return unknown, wrong
}

func placeAt(f *symbols.File, pc uint64) (p codemodel.Place, ok bool) {
	if fn := f.Model().At(pc); fn != nil {
		p, ok = fn.At(pc)
	}
	return p, ok
}
