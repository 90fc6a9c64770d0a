package wire

import (
	"strings"

	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
)

// Capabilities that a description can name. Unknown ones are ignored.
const (
	capAnywhere  = "anywhere"
	capWantsCode = "wants-code"
)

const (
	maxName     = 64
	maxVersion  = 128
	maxSections = 256
)

func describeToWire(d unwind.Description) *pb.DescribeResponse {
	out := &pb.DescribeResponse{
		Name:     text(d.Name),
		Version:  text(d.Version),
		Trust:    pb.Trust(d.Trust),
		Sections: make([]string, len(d.Sections)),
		Arches:   make([]pb.Arch, len(d.Arches)),
	}
	for i, a := range d.Arches {
		out.Arches[i] = pb.Arch(a)
	}
	for i, s := range d.Sections {
		out.Sections[i] = text(s)
	}
	if d.Anywhere {
		out.Capabilities = append(out.Capabilities, capAnywhere)
	}
	if d.WantsCode {
		out.Capabilities = append(out.Capabilities, capWantsCode)
	}
	return out
}

func describeFromWire(d *pb.DescribeResponse) (unwind.Description, error) {
	const method = "Describe"
	out := unwind.Description{
		Name:     d.GetName(),
		Version:  d.GetVersion(),
		Trust:    unwind.Trust(d.GetTrust()),
		Sections: d.GetSections(),
	}
	switch {
	case !ValidName(out.Name):
		return unwind.Description{}, broken(method, "%.80q is no strategy name (lower case letters, digits and dashes, at most %d)", out.Name, maxName)
	case len(out.Version) > maxVersion:
		return unwind.Description{}, broken(method, "the version has %d bytes (at most %d)", len(out.Version), maxVersion)
	case !validTrust(d.GetTrust()):
		return unwind.Description{}, broken(method, "unknown trust %d", d.GetTrust())
	case len(out.Sections) > maxSections:
		return unwind.Description{}, broken(method, "it wants %d sections (at most %d)", len(out.Sections), maxSections)
	}
	for _, a := range d.GetArches() {
		if arch, ok := archFromWire(a); ok {
			out.Arches = append(out.Arches, arch)
		}
	}
	for _, c := range d.GetCapabilities() {
		switch c {
		case capAnywhere:
			out.Anywhere = true
		case capWantsCode:
			out.WantsCode = true
		}
	}
	return out, nil
}

// ValidName reports whether a strategy may be called that: lower case letters,
// digits and dashes, 1 to 64 of them.
func ValidName(name string) bool {
	other := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, other)
}

func validTrust(t pb.Trust) bool {
	return t >= 0 && t <= pb.Trust(unwind.TrustContext)
}

// archFromWire knows the architectures of this version; the numbers are those
// of the domain.
func archFromWire(a pb.Arch) (unwind.Arch, bool) {
	if a <= 0 || a > pb.Arch(unwind.S390X) {
		return unwind.ArchUnknown, false
	}
	return unwind.Arch(a), true
}
