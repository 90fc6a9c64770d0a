// Package version tells which clew this is. There is one source for it: what the go
// command stamps into a binary (runtime/debug.BuildInfo). A release is a build of a
// tagged commit, "go install module@version" stamps the module's version, and
// any other build is "(devel)".
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Info is a build of clew. Unknown fields are empty.
type Info struct {
	Version  string `json:"version"`            // semantic, "v1.28.0", or "(devel)"
	Commit   string `json:"commit,omitempty"`   // of clew's repository
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the source was changed after the commit
	Go       string `json:"go"`                 // the Go version that built it
	Platform string `json:"platform"`           // GOOS/GOARCH
	Delve    string `json:"delve,omitempty"`    // the version of the Delve module in it
}

const delveModule = "github.com/go-delve/delve"

// Get returns what is stamped into this binary.
func Get() Info {
	stamp, ok := debug.ReadBuildInfo()
	if !ok {
		stamp = &debug.BuildInfo{}
	}
	return from(stamp)
}

func from(stamp *debug.BuildInfo) Info {
	info := Info{Version: cmp.Or(stamp.Main.Version, "(devel)"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range stamp.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	for _, m := range stamp.Deps {
		if m.Path == delveModule {
			info.Delve = m.Version
		}
	}
	return info
}

// String is one line: "clew v1.28.0 (commit 0123456789ab, 2026-11-22T04:39:54Z), go1.26.8 linux/amd64".
func (i Info) String() string {
	s := "clew " + i.Version
	if i.Commit != "" {
		s += " (commit " + i.Commit[:min(12, len(i.Commit))]
		if i.Modified {
			s += " with changes"
		}
		if i.Time != "" {
			s += ", " + i.Time
		}
		s += ")"
	}
	return s + ", " + i.Go + " " + i.Platform
}
