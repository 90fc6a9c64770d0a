package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStackRefuses: flags of listings that cannot be meant are refused in one line that says
// what to do.
func TestStackRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--pid 1 --with label x":                   `filter label needs a text, within the same quotes: "label TEXT"`,
		"--pid 1 --without userloc":                `filter userloc needs a text, within the same quotes: "userloc TEXT"`,
		"--pid 1 --watch 1":                        `--watch takes a time with its unit, such as 500ms or 2s, not "1"`,
		"--pid 1 --interval 1s --count 0":          "--count 0 lists nothing",
		"--core c --watch 1s /bin/true":            "a core file does not change",
		"--core c --count 3 --format pprof ./true": "a core file does not change",
	} {
		c := stackCommand()
		setUsage(c)
		got := execute(c, "", strings.Fields(args)...)
		if got.code != exitUsage || got.out != "" || len(lines(got.errors)) != 1 || !strings.Contains(got.errors, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}

// TestCoreErrors: what is no core file is refused without words of a library's.
func TestCoreErrors(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := execute(stackCommand(), "", "--core", file(t, "text", []byte("not a core file")), exe)
	if got.code != exitFailed || len(lines(got.errors)) != 1 || !strings.HasSuffix(got.errors, ": not an ELF core file\n") {
		t.Errorf("%+v", got)
	}
}

// TestDiffOpensBoth: a second file that is not there is said before the first is read.
func TestDiffOpensBoth(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	got := execute(diffCommand(), "", file(t, "a", []byte("no JSON")), missing)
	if got.code != exitFailed || len(lines(got.errors)) != 1 || !strings.Contains(got.errors, missing) {
		t.Errorf("%+v", got)
	}
}

// TestDecodeOTLP: clew says that it does not read OpenTelemetry's profiles.
func TestDecodeOTLP(t *testing.T) {
	got := execute(decodeCommand(), "", file(t, "x.otlp.pb", []byte{0x0a, 0x02, 0x08, 0x01}))
	if got.code != exitFailed || len(lines(got.errors)) != 1 || !strings.Contains(got.errors, "OpenTelemetry") {
		t.Errorf("%+v", got)
	}
}

// TestDiffBound: a file without an end is refused.
func TestDiffBound(t *testing.T) {
	if _, err := readListing(strings.NewReader(strings.Repeat(" ", 2<<20+1)), 2<<20); err == nil || !strings.Contains(err.Error(), "larger than 2 MiB") {
		t.Error(err)
	}
}
