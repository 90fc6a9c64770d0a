package corefile

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/testneed"
)

func compressed(t *testing.T, data []byte, ending string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch ending {
	case ".zst":
		w, err = zstd.NewWriter(&b)
	case ".lz4":
		z := lz4.NewWriter(&b)
		w, err = z, z.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
	case ".xz":
		cmd := exec.Command(testneed.Tool(t, "xz"), "-c")
		cmd.Stdin = bytes.NewReader(data)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheck: a compressed core file is refused with the command that expands it, and one whose notes Delve does not
// survive, whatever else is wrong with it.
func TestCheck(t *testing.T) {
	for ending, command := range map[string]string{"": "", ".zst": "zstd -d ", ".lz4": "lz4 -d ", ".xz": "xz -dk "} {
		data := []byte("some text")
		if ending != "" {
			data = compressed(t, data, ending)
		}
		path := put(t, "core"+ending, data)
		err := Check(path)
		if (err != nil) != (command != "") || err != nil && !strings.HasSuffix(err.Error(), "expand it first: "+command+path) {
			t.Errorf("%s: %v", ending, err)
		}
	}
	whole := processCore()
	if err := Check(whole.write(t)); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		want   error
		change func(*core)
	}{
		{errNoNotes, func(c *core) { c.noted = elf.PT_NULL }},
		{errLongNote, func(c *core) { c.notes = append(c.notes, 5, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0) }},
		{errLongNote, func(c *core) { c.more = 1 << 40 }}, // found by integration/hostile/mutated
		{nil, func(c *core) { c.notes = note(ntFile, nil) }},
	} {
		want, change := tt.want, tt.change
		for _, otherFault := range []bool{false, true} {
			c := processCore()
			if change(c); otherFault {
				c.notes = append(note(ntFile, nil), c.notes...)
				c.loads[1].end = c.loads[1].start + 1
			}
			if err := Check(c.write(t)); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%v, want %v", err, want)
			}
		}
	}
}

// TestExpand: a compressed core file is the plain one; its zeros take no room on the disk,
// and nothing is left of it afterwards.
func TestExpand(t *testing.T) {
	c := processCore()
	c.loads[2].data = make([]byte, 8<<20)
	c.loads[2].end = dataStart + 8<<20
	copy(c.loads[2].data[5<<20:], "in the middle")
	whole, err := os.ReadFile(c.write(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{"", ".zst", ".lz4", ".xz"} {
		folder := t.TempDir()
		t.Setenv("TMPDIR", folder)
		data := whole
		if ending != "" {
			data = compressed(t, whole, ending)
		}
		path, told := put(t, "core"+ending, data), 0
		plain, err := Expand(context.Background(), path, func(n int) { told += n })
		if err != nil {
			t.Fatalf("%s: %v", ending, err)
		}
		f, err := plain.Open()
		if err != nil {
			t.Fatalf("%s: %v", ending, err)
		}
		p := make([]byte, 13)
		if err := f.ReadMemory(dataStart+5<<20, p); err != nil || string(p) != "in the middle" || f.Executable() != programPath {
			t.Errorf("%s: %q, %v", ending, p, err)
		}
		if got, err := os.ReadFile(plain.Path); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%s: %d bytes are not the %d of the plain file, %v", ending, len(got), len(whole), err)
		}
		if ending != "" {
			if told != len(whole) {
				t.Errorf("%s: told of %d bytes of %d", ending, told, len(whole))
			}
			info, err := os.Stat(plain.Path)
			if err != nil || elffile.Stored(info) > 1<<20 {
				t.Errorf("%s: the disk holds %d bytes, %v", ending, elffile.Stored(info), err)
			}
		}
		if err := errors.Join(f.Close(), plain.Close()); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s: %v is left", ending, left)
		}
	}
}

// TestExpandBadFiles: a zst or lz4 that is cut off is used as far as it goes; any other damage, no
// room on the disk and an interrupt are an error that names the file.
func TestExpandBadFiles(t *testing.T) {
	noise := make([]byte, 4<<20) // that does not become smaller
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for _, ending := range []string{".zst", ".lz4", ".xz"} {
		data := compressed(t, noise, ending)
		cut := false
		expand := func(ctx context.Context, data []byte) ([]byte, error) {
			t.Helper()
			path := put(t, "core"+ending, data)
			plain, err := Expand(ctx, path, func(int) {})
			if err != nil {
				var typed *Error
				if !errors.As(err, &typed) || typed.Path != path {
					t.Errorf("%s: %v", ending, err)
				}
				return nil, err
			}
			defer plain.Close()
			cut = plain.Cut
			got, err := os.ReadFile(plain.Path)
			if err != nil {
				t.Fatal(err)
			}
			return got, nil
		}
		got, err := expand(context.Background(), data[:len(data)*2/3])
		if ending == ".xz" { // its reader does not tell a cut from damage
			if err == nil {
				t.Errorf("%s, cut off: no error", ending)
			}
		} else if err != nil || !cut || len(got) < len(noise)/4 || !bytes.HasPrefix(noise, got) {
			t.Errorf("%s, cut off: %d bytes of %d, said %v, %v", ending, len(got), len(noise), cut, err)
		}
		if got, err := expand(context.Background(), data); err != nil || cut || !bytes.Equal(got, noise) {
			t.Errorf("%s: %d bytes of %d, cut off %v, %v", ending, len(got), len(noise), cut, err)
		}
		wrong := bytes.Clone(data)
		for i := range 64 {
			wrong[len(wrong)/2+i] ^= 0xff
		}
		if got, err := expand(context.Background(), wrong); err == nil && !bytes.Equal(got, noise) {
			t.Errorf("%s, damaged: no error", ending)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("interrupted"))
		if _, err := expand(ctx, data); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("%s: %v", ending, err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Expand(context.Background(), put(t, "core.zst", compressed(t, noise, ".zst")), func(int) {}); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if plain, err := Expand(context.Background(), "/nowhere/core", func(int) {}); err != nil || plain.Path != "/nowhere/core" {
		t.Errorf("%v, %v", plain, err)
	}
}
