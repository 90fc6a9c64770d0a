package sframe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
)

// TestReadelfGolden compares tables of every generation and architecture with
// what the readelf of the same binutils says. Version 2's are compared a second
// time with starts as 2.45 writes them.
func TestReadelfGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.elf.gz")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files in testdata, %v", len(files), err)
	}
	total := map[string]sframetest.Compared{}
	for _, path := range files {
		name := strings.TrimSuffix(path, ".elf.gz")
		text, err := os.ReadFile(name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		section, opts, err := sframetest.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		// One linker's rules for its linkage table are not used, see checkPLT.
		left := 0
		if filepath.Base(name) == "amd64-ibt-v1" {
			left = 2
		}
		if first, n := sframe.New(section, opts).Problems(); n != left {
			t.Errorf("%s: %d problems: %v", name, n, first)
		}
		opts.Verbatim = true
		compare := func(name string, section sframe.Section) {
			t.Run(name, func(t *testing.T) {
				table := sframe.New(section, opts)
				got := sframetest.Compare(table, string(text))
				for i, d := range got.Differences {
					if i < 10 {
						t.Error(d)
					}
				}
				if got.Functions < 3 || got.Rows < 3 {
					t.Errorf("only %d functions and %d rows compared", got.Functions, got.Rows)
				}
				if hs := table.Headers(); len(hs) == 1 {
					kind := hs[0].Arch.String() + " " + hs[0].Generation()
					sum := total[kind]
					total[kind] = sframetest.Compared{Functions: sum.Functions + got.Functions, Rows: sum.Rows + got.Rows}
				}
			})
		}
		compare(filepath.Base(name), section)
		if strings.HasSuffix(name, "-v2") {
			section.Data = sframetest.ToErrata1(section.Data)
			compare(filepath.Base(name)+"-errata1", section)
		}
	}
	for kind, sum := range total {
		t.Logf("%s: %d functions, %d rows", kind, sum.Functions, sum.Rows)
	}
	if len(total) != 9 { // amd64 and arm64 in four generations, s390x in one
		t.Errorf("%d kinds of tables", len(total))
	}
}
