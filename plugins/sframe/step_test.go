package sframe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// The truth test (package steptest): a program with frames of every kind is
// single-stepped from its first instruction, and what this strategy alone says
// at each is compared: CFA, return address, the caller's frame pointer. Programs
// come prebuilt. With CLEW_SFRAME_TOOLCHAINS, the folder of
// fetch-toolchains.sh, they are built in many more ways.

// stepBuild is a way to build the program.
type stepBuild struct {
	arch    string // amd64, aarch64, aarch64be, s390x
	version string // v1, v2, v3
	options string
}

func (b stepBuild) String() string {
	return b.arch + "-" + b.version + strings.NewReplacer(" ", "", "-", "", ",", "", "=", "", "+", "").Replace(b.options)
}

// prebuiltSteps are kept in testdata by generate.sh.
var prebuiltSteps = []stepBuild{
	{"amd64", "v1", "-O2"}, {"amd64", "v2", "-O2"}, {"amd64", "v3", "-O2"}, {"amd64", "v3", "-O0 -fcf-protection=full -Wl,-z,ibtplt"},
	{"aarch64", "v2", "-O2 -mbranch-protection=standard"}, {"aarch64", "v3", "-Os -mbranch-protection=pac-ret+leaf+b-key"},
	{"aarch64be", "v3", "-O2"}, {"s390x", "v3", "-O2"},
}

// probing is built on arm64 with version 1 alone, whose assembler has wrong what
// probes a very large frame. The later ones cannot say it on arm64, and leave the
// function out.
const probing = "-O2 -fstack-clash-protection"

// stepOptions are the options of the full measurement.
var stepOptions = map[string][]string{
	"amd64": {"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O0 -fomit-frame-pointer", "-O2 -mstackrealign",
		"-O2 -fstack-clash-protection", "-O1 -maccumulate-outgoing-args", "-O2 -fcf-protection=full -Wl,-z,ibtplt", "-O2 -march=x86-64-v3"},
	"aarch64": {"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fomit-frame-pointer", "-O2 -mbranch-protection=standard",
		"-O2 -mbranch-protection=pac-ret+leaf+b-key", probing},
	"s390x": {"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -mbackchain", "-O2 -march=z13"},
}

func allSteps() (builds []stepBuild) {
	for _, arch := range []string{"amd64", "aarch64", "aarch64be", "s390x"} {
		for _, version := range []string{"v1", "v2", "v3"} {
			if arch == "s390x" && version != "v3" {
				continue
			}
			for _, options := range stepOptions[strings.TrimSuffix(arch, "be")] {
				if options == probing && strings.HasPrefix(arch, "aarch64") && version != "v1" {
					continue
				}
				builds = append(builds, stepBuild{arch, version, options})
			}
		}
	}
	return builds
}

// make writes the program, and its library on amd64, to a folder.
func (b stepBuild) make(t *testing.T, toolchains string) (exe string) {
	t.Helper()
	exe = filepath.Join(t.TempDir(), b.String())
	if toolchains != "" {
		args := append([]string{"../../internal/unwind/sframetest/build-steps.sh", toolchains, b.version, b.arch, exe}, strings.Fields(b.options)...)
		if out, err := exec.Command("sh", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return exe
	}
	for _, end := range []string{"", ".so"} {
		if end != "" && b.arch != "amd64" {
			continue
		}
		data, err := sframetest.Read(filepath.Join("testdata", b.String()+end+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(exe+end, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return exe
}

// stepProgram is a built program, and what is counted of it.
type stepProgram struct {
	exe     string
	entry   uint64
	errata1 bool // tables of version 2 are converted
	counted unwind.RangeSet
	problem func(string) // is told of what is wrong with an image, if anything may be
}

// load reads the program or its library as it lies with a bias.
func (p *stepProgram) load(path string, bias uint64) (unwind.Image, error) {
	f, err := elf.Open(path)
	if err != nil {
		return unwind.Image{}, err
	}
	defer f.Close()
	image := unwind.Image{ID: 1, Path: path, Base: bias}
	for _, seg := range f.Progs {
		if seg.Type == elf.PT_LOAD && seg.Flags&elf.PF_X != 0 {
			image.Executable = append(image.Executable, unwind.Range{Start: seg.Vaddr + bias, End: seg.Vaddr + seg.Memsz + bias})
		}
	}
	if !strings.HasPrefix(path, p.exe) {
		return image, nil // the loader, the vDSO
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS && s.Name != sframe.SectionName {
			continue
		}
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Name != ".undescribed" {
			p.counted = p.counted.Union(unwind.RangeSet{{Start: s.Addr + bias, End: s.Addr + s.Size + bias}})
		}
		if slices.Contains(sections, s.Name) {
			data, err := s.Data()
			if err != nil {
				return image, err
			}
			if p.errata1 && s.Name == sframe.SectionName {
				data = sframetest.ToErrata1(data)
			}
			image.Sections = append(image.Sections, unwind.Section{Name: s.Name, Addr: s.Addr + bias, Data: data})
		}
	}
	return image, nil
}

// entryOf returns the address where a program begins.
func entryOf(t *testing.T, exe string) uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Entry
}

// stepRun builds the program in a way and makes one run.
func stepRun(t *testing.T, b stepBuild, toolchains string, errata1 bool) (got steptest.Tally, wrong []string) {
	exe := b.make(t, toolchains)
	p := &stepProgram{exe: exe, entry: entryOf(t, exe), errata1: errata1}
	if b.version == "v1" && strings.Contains(b.options, "ibtplt") {
		p.problem = func(text string) {
			t.Log(text)
			if !strings.Contains(text, "linkage table") {
				t.Error("that is not what is known of binutils 2.40")
			}
		}
	}
	got = p.run(t, b.arch, func(pc uint64, problem string) {
		wrong = append(wrong, fmt.Sprintf("%#x: %s", pc, problem))
	})
	return got, wrong
}

// run steps through a program for an architecture.
func (p *stepProgram) run(t *testing.T, arch string, wrong func(pc uint64, problem string)) steptest.Tally {
	tr := steptest.Tracer{Shadow: steptest.Shadow{T: t, Status: 42}, Unwinder: New()}
	switch arch {
	case "amd64":
		tr.Machine = steptest.AMD64()
		startNative(t, &tr, p)
	case "aarch64":
		tr.Machine = steptest.ARM64(binary.LittleEndian)
		startEmulated(t, &tr, p, "qemu-aarch64")
	case "aarch64be":
		tr.Machine = steptest.ARM64(binary.BigEndian)
		startEmulated(t, &tr, p, "qemu-aarch64_be")
	case "s390x":
		tr.Machine = steptest.S390X()
		startEmulated(t, &tr, p, "qemu-s390x")
	}
	tr.Machine.Saved = []unwind.Register{tr.Machine.Arch.FP()}
	tr.Counts = func(pc uint64) bool { return p.counted.Contains(pc) }
	tr.Wrong, tr.Problem = wrong, p.problem
	return tr.Run()
}

// TestStep: no step is wrong; what is not right is a hole. Version 3 describes
// everything, 1 and 2 have no rules for realigned stacks and some of the linkage
// table.
func TestStep(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	toolchains := os.Getenv("CLEW_SFRAME_TOOLCHAINS")
	builds := prebuiltSteps
	if toolchains != "" {
		builds = allSteps()
	}
	sums := map[string]*steptest.Tally{}
	for _, b := range builds {
		for _, errata1 := range []bool{false, true} {
			if errata1 && b.version != "v2" {
				continue
			}
			kind := b.arch + " " + b.version
			if errata1 {
				kind += " errata 1"
			}
			t.Run(strings.ReplaceAll(kind, " ", "-")+"/"+b.String(), func(t *testing.T) {
				got, wrong := stepRun(t, b, toolchains, errata1)
				all := got.Right + got.Wrong + got.Refused + got.Uncovered
				t.Logf("%s: %d instructions, right %.3f %%; %v", b.options, all, 100*float64(got.Right)/float64(all), got)
				for i, w := range wrong {
					if i < 10 {
						t.Errorf("wrong at %s", w)
					}
				}
				if all < 2500 {
					t.Errorf("only %d instructions compared", all)
				}
				if sums[kind] == nil {
					sums[kind] = &steptest.Tally{}
				}
				sums[kind].Add(&got)
			})
		}
	}
	var kinds []string
	for kind := range sums {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	for _, kind := range kinds {
		s := sums[kind]
		all := s.Right + s.Wrong + s.Refused + s.Uncovered
		least := 97.0
		if strings.HasSuffix(kind, "v3") {
			least = 99.95
		}
		if float64(s.Right)*100 < least*float64(all) {
			t.Errorf("%s: %d of %d instructions right, want %v %%", kind, s.Right, all, least)
		}
		t.Logf("| %s | %d | %.3f %% | %.3f %% | %d | %d |", kind, all, 100*float64(s.Right)/float64(all),
			100*float64(s.Refused+s.Uncovered)/float64(all), s.Wrong, s.Walks-s.Cut)
	}
}
