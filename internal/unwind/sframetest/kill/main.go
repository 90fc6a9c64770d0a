// Command kill looks for sections that kill libsframe:
//
//	go run ./internal/unwind/sframetest/kill TOOLCHAINS
//
// TOOLCHAINS is the folder that fetch-toolchains.sh wrote, with libsframe of version 3's
// binutils. Needs gcc and linux. It changes some bytes each of the sections in
// sframe/testdata, has libsframe read them, each in a process of its own, and
// keeps those that libsframe did not survive in testdata/libsframe-kills.txt, for
// TestLibsframeKills.
package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
)

const (
	testdata  = "sframe/testdata"
	mutations = 3000
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kill TOOLCHAINS")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

func run(toolchains string) error {
	dir, err := os.MkdirTemp("", "clew-sframe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	victim, tree := filepath.Join(dir, "victim"), filepath.Join(toolchains, "v3", "tree", "usr")
	if out, err := exec.Command("gcc", "-O2", "-o", victim, "-I", filepath.Join(tree, "include"),
		"internal/unwind/sframetest/testdata/victim.c", filepath.Join(tree, "lib/x86_64-linux-gnu/libsframe.a")).CombinedOutput(); err != nil {
		return fmt.Errorf("victim.c: %w\n%s", err, out)
	}
	tried, packed, err := mutate()
	if err != nil {
		return err
	}
	sections := filepath.Join(dir, "sections")
	if err := os.WriteFile(sections, packed, 0o600); err != nil {
		return err
	}
	out, err := exec.Command(victim, sections).Output()
	if err != nil {
		return fmt.Errorf("victim: %w", err)
	}
	ends := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(ends) != len(tried) {
		return fmt.Errorf("%d answers for %d sections", len(ends), len(tried))
	}
	counts := map[string]int{}
	var kept strings.Builder
	for i, end := range ends {
		if len(tried[i].Changes) == 0 {
			if end != "ok" {
				return fmt.Errorf("%s, as it is: %s", tried[i].File, end)
			}
			continue
		}
		counts[end]++
		if end != "ok" && end != "refused" {
			fmt.Fprintln(&kept, tried[i])
		}
	}
	fmt.Printf("%d sections: %v\n", mutations, counts)
	return os.WriteFile(filepath.Join(testdata, "libsframe-kills.txt"), []byte(kept.String()), 0o644)
}

// mutate returns sections of version 3 as they are, and with one to four bytes
// changed, half of the changes in the header and the index: the same at every run.
func mutate() (tried []sframetest.Mutation, packed []byte, err error) {
	paths, err := filepath.Glob(filepath.Join(testdata, "*-v3.elf.gz"))
	if err != nil || len(paths) == 0 {
		return nil, nil, fmt.Errorf("no sections in %s: %w", testdata, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	values := []byte{0, 1, 0x7f, 0x80, 0xff}
	for i := range len(paths) + mutations {
		path := paths[i%len(paths)]
		section, _, err := sframetest.Load(path)
		if err != nil {
			return nil, nil, err
		}
		m := sframetest.Mutation{File: strings.TrimSuffix(filepath.Base(path), ".elf.gz")}
		for changes := 1 + random.IntN(4); i >= len(paths) && changes > 0; changes-- {
			within := len(section.Data)
			if random.IntN(2) == 0 {
				within = min(within, 128)
			}
			c := sframetest.Change{Offset: random.IntN(within), Value: byte(random.Uint32())}
			if random.IntN(2) == 0 {
				c.Value = values[random.IntN(len(values))]
			}
			m.Changes = append(m.Changes, c)
		}
		data, err := m.Apply(section.Data)
		if err != nil {
			return nil, nil, err
		}
		tried = append(tried, m)
		packed = append(binary.LittleEndian.AppendUint32(packed, uint32(len(data))), data...)
	}
	return tried, packed, nil
}
