package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
)

// execution is the result of a command.
type execution struct {
	code        int
	out, errors string
}

// execute runs a command as main does.
func execute(c *cobra.Command, stdin string, args ...string) execution {
	var out, errs bytes.Buffer
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SilenceErrors, c.SilenceUsage = true, true
	code, err := exitCode(c.Execute())
	if err != nil {
		errs.WriteString("clew: " + err.Error() + "\n")
	}
	return execution{code, out.String(), errs.String()}
}

// file writes a file of the given contents.
func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func swiftVectors(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../cbf/testdata/swift/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	return files
}

func contentsOf(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// lines are the lines of a text, each without its end.
func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Every vector of Swift's goes from its envelope to JSON, and to each format and
// back, without a difference.
func TestSwiftVectorsThroughTheCommands(t *testing.T) {
	files := swiftVectors(t)
	all := execute(decodeCommand(), "", append([]string{"--format", "json"}, files...)...)
	if all.code != exitDone || all.errors != "" || len(lines(all.out)) != len(files) {
		t.Fatalf("%+v", all)
	}
	for i, name := range files {
		text := lines(all.out)[i]
		if err := schematest.CheckOutput(schema.Decode, []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, err := envelope.Unmarshal(contentsOf(t, name))
		if err != nil {
			t.Fatal(err)
		}
		frames, err := cbf.Decode(want.Backtrace, cbf.DecodeOptions{})
		if err != nil {
			t.Fatal(err)
		}

		// To CBF, strictly: no rep, nothing relative first, the same frames.
		strict := execute(encodeCommand(), text, "--to", "cbf", "--strict", "-")
		b, err := cbf.Decode([]byte(strict.out), cbf.DecodeOptions{Strict: true})
		if strict.code != exitDone || err != nil || !slices.Equal(b.Frames, frames.Frames) {
			t.Errorf("%s: %v, %s", name, err, strict.errors)
		}
		if strings.Contains(name, "rec70") {
			if _, err := cbf.Decode(want.Backtrace, cbf.DecodeOptions{Strict: true}); err == nil {
				t.Errorf("%s proves nothing: it is strict itself", name)
			}
		}
		// Not strictly: Swift's output, with the first address absolute and
		// the end marked.
		loose := execute(encodeCommand(), text, "--to", "cbf", "-")
		bytesWanted := append(bytes.Clone(want.Backtrace), 0)
		bytesWanted[1] |= 0x08
		if loose.out != string(bytesWanted) {
			t.Errorf("%s: % x, want % x", name, loose.out, bytesWanted)
		}
		// To CIF: as long as Swift's or shorter, and the same images.
		cif := execute(encodeCommand(), text, "--to", "image-map", "-")
		images, err := imagemap.Decode([]byte(cif.out), imagemap.DecodeOptions{})
		wanted, wantErr := imagemap.Decode(want.ImageMap, imagemap.DecodeOptions{})
		if err != nil || wantErr != nil || !images.Equal(wanted) || len(cif.out) > len(want.ImageMap) {
			t.Errorf("%s: %v, %v, %s", name, err, wantErr, cif.errors)
		}
		// To an envelope, which decodes to the same JSON.
		swift := execute(encodeCommand(), text, "--to", "swift", "-")
		again := execute(decodeCommand(), swift.out, "--format", "json", "-")
		if again.out != text+"\n" || len(lines(swift.out)) != 1 {
			t.Errorf("%s: %+v", name, again)
		}
	}
	// Several documents become as many envelopes.
	several := execute(encodeCommand(), all.out, "--to", "swift", "-")
	again := execute(decodeCommand(), several.out, "--format", "json", "-")
	if again.out != all.out || len(lines(several.out)) != len(files) {
		t.Errorf("%+v", again)
	}
}

func TestDecodeText(t *testing.T) {
	name := file(t, "x.cbf", unhex(t, "02 18 30 28 31 82 00"))
	const text = "backtrace, 64-bit, 5 frames\n    0  pc     0x0000000000000030\n  1-4  ra     0x0000000000000031\n  end\n"
	if got := execute(decodeCommand(), "", name); got != (execution{out: text}) {
		t.Errorf("%+v", got)
	}
	// Several files have titles; standard input is one as well.
	got := execute(decodeCommand(), "\x02\x00\x00", name, "-")
	if want := name + ":\n" + text + "\n-:\nimage map, 64-bit, 0 images\n"; got != (execution{out: want}) {
		t.Errorf("%+v", got)
	}
}

// --images: a bare backtrace with its image map, as if both had been in an envelope.
func TestDecodeWithImages(t *testing.T) {
	backtrace := file(t, "x.cbf", unhex(t, "00 18 20 28 18 00"))
	images := file(t, "x.cif", unhex(t, "00 00 01 00 10 10 01 ff 02 2f 61 00"))
	const text = `backtrace, 16-bit, 2 frames
    0  pc     0x0020  ?
    1  ra     0x0018  a+0x8
  end

image map, 16-bit, 1 image
  0x0010-0x0020  ff  /a
`
	if got := execute(decodeCommand(), "", "--images", images, backtrace); got != (execution{out: text}) {
		t.Errorf("%+v", got)
	}
	// One line of JSON, which clew encode makes an envelope of.
	line := execute(decodeCommand(), "", "--format=json", "--images", images, backtrace)
	if !strings.Contains(line.out, `"frames":[{"kind":"pc","address":"0x20"}`) || !strings.Contains(line.out, `"path":"/a"`) {
		t.Errorf("%+v", line)
	}
	if err := schematest.CheckOutput(schema.Decode, []byte(line.out)); err != nil {
		t.Error(err)
	}
	// The map's fault is reported; the backtrace is shown nevertheless.
	other := file(t, "other.cif", unhex(t, "02 00 00"))
	cut := file(t, "cut.cif", unhex(t, "00 00 02 00 10 10 00 00 80"))
	for _, tt := range []struct{ images, out, errors string }{
		{other, "    1  ra     0x0018\n", "clew: decode " + backtrace + ": offset 0: the image map has 64-bit words, the backtrace 16-bit ones; 2 frames could be read: name the image map that was written with it"},
		{cut, "    1  ra     0x0018  image at 0x10 +0x8\n", "clew: decode " + cut + ": offset 9: image 1: data ends too early"},
		{filepath.Join(t.TempDir(), "none"), "    1  ra     0x0018\n", "no such file"},
	} {
		got := execute(decodeCommand(), "", "--images", tt.images, backtrace)
		if got.code != exitFailed || !strings.Contains(got.out, tt.out) || !strings.Contains(got.errors, tt.errors) || len(lines(got.errors)) != 1 {
			t.Errorf("%s: %+v", tt.images, got)
		}
	}
}

func TestDecodeFrom(t *testing.T) {
	padded := file(t, "padded", unhex(t, "02 00 00"))
	for _, tt := range []struct{ from, want string }{
		{"", `{"wordSize":64,"frames":[],"complete":true,"images":[]}`},
		{"image-map", `{"wordSize":64,"frames":[],"complete":true,"images":[]}`},
		{"cbf", `{"wordSize":64,"frames":[],"complete":true}`},
	} {
		if got := execute(decodeCommand(), "", "--format=json", "--from="+tt.from, padded); got != (execution{out: tt.want + "\n"}) {
			t.Errorf("--from=%s: %+v", tt.from, got)
		}
	}
	// Swift before 6.2: no platform.
	old := file(t, "old.cif", unhex(t, "02 01 00 10 10 00 00"))
	if got := execute(decodeCommand(), "", "--format=json", "--no-platform", old); got.code != exitDone || !strings.Contains(got.out, `"base":"0x10"`) {
		t.Errorf("%+v", got)
	}
	if got := execute(decodeCommand(), "", "--format=json", old); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
}

// Documents that can be read go to stdout, one line for each fault to stderr, and the
// files after it are read nevertheless.
func TestDecodeDamaged(t *testing.T) {
	good := file(t, "good.cbf", unhex(t, "02 00"))
	const goodJSON = `{"wordSize":64,"frames":[],"complete":true}` + "\n"
	for _, tt := range []struct {
		what string
		data []byte
		name string
		out  string // of --format json
		errs string // a regular expression, after "decode NAME: "
	}{
		{"a backtrace", unhex(t, "02 18 30 07"), "x.cbf",
			`{"wordSize":64,"frames":[{"kind":"pc","address":"0x30"}],"complete":false,"error":{"offset":3,"message":"unknown instruction 0x07"}}` + "\n",
			`offset 3: unknown instruction 0x07; 1 frame could be read: get the file again, or try --from image-map if it is one`},
		{"an image map", unhex(t, "02 00 02 00 10 10 00 00 80"), "x.cif",
			`{"wordSize":64,"frames":[],"complete":false,"error":{"offset":9,"message":"image 1: data ends too early: base needs 1 bytes, 0 left"},"images":[{"base":"0x10","endOfText":"0x20"}]}` + "\n",
			`offset 9: image 1: data ends too early.*; 1 image could be read: .*`},
		{"an executable", []byte("\x7fELF\x02\x01\x01"), "x", "", `offset 0: unsupported version 31; this is no backtrace \(CBF\), image map \(CIF\) or Swift envelope`},
		{"nothing", nil, "x.cbf", "", `offset 0: the file is empty; .*`},
		{"no stacks", []byte(`{"stacks":[]}`), "x.json", "", `offset 0: there is no stack in it; nothing of it could be read: is it really JSON of clew's\?`},
		{"other JSON", []byte(`{"formats":[]}`), "x.json", "", `offset 0: envelope: field "architecture": missing; nothing of it could be read: is it really Swift's envelope\?`},
		{"the second envelope", []byte(`{"architecture":"arm","backtrace":"AgA"}{"architecture":"arm","backtrace":"Agc"}`), "x.json",
			`{"architecture":"arm","wordSize":64,"frames":[],"complete":true}` + "\n" +
				`{"architecture":"arm","wordSize":64,"frames":[],"complete":false,"error":{"offset":1,"message":"backtrace: unknown instruction 0x07"}}` + "\n",
			`envelope 2: offset 1: backtrace: unknown instruction 0x07; 0 frames could be read: get the file again`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			name := file(t, tt.name, tt.data)
			got := execute(decodeCommand(), "", "--format", "json", name, good)
			if got.code != exitFailed || got.out != tt.out+goodJSON {
				t.Errorf("%+v\nwant %s", got, tt.out)
			}
			if !regexp.MustCompile(`^clew: decode ` + regexp.QuoteMeta(name) + `: ` + tt.errs + "\n$").MatchString(got.errors) {
				t.Errorf("%q\nwant %s", got.errors, tt.errs)
			}
			for _, line := range lines(got.out) {
				if err := schematest.CheckOutput(schema.Decode, []byte(line)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if asText := execute(decodeCommand(), "", name, good); asText.errors != got.errors || asText.code != exitFailed {
				t.Errorf("as text: %+v", asText)
			}
		})
	}
	for name, wantText := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "no such file",
		t.TempDir():                        "is a directory",
	} {
		got := execute(decodeCommand(), "", "--format", "json", name, good)
		if got.code != exitFailed || got.out != goodJSON || len(lines(got.errors)) != 1 ||
			!strings.Contains(got.errors, wantText) || strings.Count(got.errors, name) != 1 {
			t.Errorf("%+v, want %q", got, wantText)
		}
	}
	if _, err := readInput("-", endless{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("without end: %v", err)
	}
}

// endless is /dev/zero.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestDecodeUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--format", "xml", "x"}, {"--from", "elf", "x"}} {
		if got := execute(decodeCommand(), "", args...); got.code != exitUsage || got.out != "" || len(lines(got.errors)) != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// A reader that goes away is an error, not a success.
func TestDecodeToBrokenPipe(t *testing.T) {
	c := decodeCommand()
	c.SetArgs([]string{file(t, "x.cbf", unhex(t, "02 00"))})
	c.SetOut(broken{})
	c.SilenceErrors, c.SilenceUsage = true, true
	if code, err := exitCode(c.Execute()); code != exitFailed || !errors.Is(err, os.ErrClosed) {
		t.Errorf("%d, %v", code, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }
