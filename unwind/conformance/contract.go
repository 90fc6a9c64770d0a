package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

var nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkDescribe(s *session) error {
	d := s.description
	switch {
	case !nameForm.MatchString(d.Name):
		return fmt.Errorf("name %q has other than lower case letters, digits and dashes", d.Name)
	case d.Version == "":
		return errors.New("no version")
	case len(d.Arches) == 0:
		return errors.New("no architectures")
	case d.Trust < unwind.TrustScan || d.Trust > unwind.TrustCFI:
		return fmt.Errorf("trust %v; a strategy's is scan, frame-pointer or cfi", d.Trust)
	case hasDuplicates(d.Sections) || slices.Contains(d.Sections, ""):
		return fmt.Errorf("sections %q repeat or have no name", d.Sections)
	case hasDuplicates(d.Arches):
		return fmt.Errorf("architectures %v repeat", d.Arches)
	}
	for _, arch := range d.Arches {
		if _, err := unwind.ParseArch(arch.String()); err != nil {
			return err
		}
	}
	return s.call("Describe", func(ctx context.Context) error {
		again, err := s.unwinder.Describe(ctx)
		if err == nil && !reflect.DeepEqual(again, d) {
			err = fmt.Errorf("%+v the second time, %+v the first", again, d)
		}
		return err
	})
}

func hasDuplicates[T cmp.Ordered](list []T) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(list)))) < len(list)
}

// judgeReports reports whether reports answer a delta.
func judgeReports(delta unwind.ImageDelta, reports []unwind.ImageReport) error {
	if len(reports) != len(delta.Added) {
		return fmt.Errorf("%d reports for %d added images", len(reports), len(delta.Added))
	}
	for i, r := range reports {
		if r.ID != delta.Added[i].ID {
			return fmt.Errorf("report %d is about image %d, want %d", i, r.ID, delta.Added[i].ID)
		}
		if set := unwind.NewRangeSet(r.Coverage...); !slices.Equal(set, r.Coverage) {
			return fmt.Errorf("image %d: coverage is not sorted or not joined: %#x", r.ID, r.Coverage)
		}
	}
	return nil
}

// unusedID is an image that no test adds.
const unusedID unwind.ImageID = 0xfffffff0

func checkUpdate(s *session) error {
	if err := judgeReports(s.Images, s.reports); err != nil {
		return err
	}
	before, err := s.walk(s.requests()...)
	if err != nil {
		return err
	}
	delta := unwind.ImageDelta{Arch: s.Images.Arch, OS: s.Images.OS, PACMask: s.Images.PACMask}
	for _, removed := range [][]unwind.ImageID{nil, {unusedID}, {unusedID, unusedID}} {
		delta.Removed = removed
		reports, err := s.update(delta)
		if err == nil {
			err = judgeReports(delta, reports)
		}
		if err != nil {
			return fmt.Errorf("removing images %d: %w", removed, err)
		}
	}
	after, err := s.walk(s.requests()...)
	if err != nil {
		return err
	}
	for i := range after {
		if err := same(after[i], before[i]); err != nil {
			return fmt.Errorf("after an empty update: %w", err)
		}
	}
	return nil
}

// checkCorruptImages sends images whose sections are garbage, and whose ID the
// strategy must answer for all the same.
func checkCorruptImages(s *session) error {
	garbage := [][]byte{nil, {0}, {0xff, 0xff, 0xff, 0xff}, make([]byte, 64), bytes.Repeat([]byte{0xff}, 200), counting(300)}
	for _, arch := range s.description.Arches {
		delta := unwind.ImageDelta{Arch: arch, OS: "linux", PACMask: s.Images.PACMask}
		for i, data := range garbage {
			image := unwind.Image{
				ID: unusedID - 1 - unwind.ImageID(i), Base: 0x10_0000_0000 + uint64(i)<<24,
				Path: "/nonexistent/image", BuildID: []byte{1, 2, 3},
				Executable: []unwind.Range{{Start: 0x10_0000_1000 + uint64(i)<<24, End: 0x10_0000_2000 + uint64(i)<<24}},
			}
			for _, name := range s.description.Sections {
				image.Sections = append(image.Sections, unwind.Section{Name: name, Addr: image.Base + 0x4000, Data: data})
			}
			delta.Added = append(delta.Added, image)
		}
		reports, err := s.update(delta)
		if err == nil {
			err = judgeReports(delta, reports)
		}
		if err != nil {
			return err
		}
		var removal unwind.ImageDelta
		removal.Arch, removal.OS, removal.PACMask = arch, delta.OS, delta.PACMask
		for _, image := range delta.Added {
			removal.Removed = append(removal.Removed, image.ID)
		}
		if _, err := s.update(removal); err != nil {
			return fmt.Errorf("removing them again: %w", err)
		}
	}
	return nil
}

func counting(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}

func checkForeignArch(s *session) error {
	for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.ARM, unwind.S390X, unwind.ArchUnknown, 200} {
		if slices.Contains(s.description.Arches, arch) {
			continue
		}
		var regs unwind.Registers
		regs.Set(arch.PC(), 0x401000)
		regs.Set(arch.SP(), 0x7000)
		result, err := s.walkOne(unwind.WalkRequest{Arch: arch, Registers: regs, Kind: unwind.KindReturn, MaxFrames: 5,
			Stack: unwind.Windows{{Addr: 0x7000, Data: make([]byte, 256)}}})
		if err != nil {
			return fmt.Errorf("%v: %w", arch, err)
		}
		if len(result.Steps) != 0 || result.Stop != unwind.StopNoRule {
			return fmt.Errorf("%v: %s", arch, describeResult(&result))
		}
	}
	return nil
}
