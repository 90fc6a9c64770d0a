package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

func variantNamed(t testing.TB, name string) program.Variant {
	t.Helper()
	i := slices.IndexFunc(program.Variants, func(v program.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no variant %q", name)
	}
	return program.Variants[i]
}

// build builds a variant, once for all tests.
func build(t testing.TB, v program.Variant) program.Program {
	t.Helper()
	testneed.Platform(t, "linux/amd64") // the record's interrupted PC, int3, syscalls
	tools, err := v.Tools()
	if err != nil {
		testneed.LeaveOut(t, "%v", err)
	}
	tools.SFrame = os.Getenv(sframeToolchains)
	p, err := testkit.Once(v.Name, func() (program.Program, error) { return v.Build(testkit.Path(""), tools) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readRecord(t testing.TB, stem string, thread uint64) []program.Entry {
	t.Helper()
	record, err := program.ReadRecord(stem, thread)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func mappings(t testing.TB, name string) []imagemap.Mapping {
	t.Helper()
	maps, err := program.ReadMappings(name)
	if err != nil {
		t.Fatal(err)
	}
	return maps
}

// report fails the test for its findings. A gap says that clew is known to
// fall short here: then the stack must still fall short (so that the gap does
// not outlive its cause), and must have no wrong frame.
func report(t testing.TB, bad program.Findings, gap string) {
	t.Helper()
	if gap != "" {
		if len(bad) == 0 {
			t.Errorf("this gap is closed, take it out: %s", gap)
		}
		bad = slices.DeleteFunc(bad, func(s string) bool { return !strings.HasPrefix(s, "WRONG") })
	}
	for _, s := range bad {
		t.Error(s)
	}
}
