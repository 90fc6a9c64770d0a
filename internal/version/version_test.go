package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestFrom(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	stamp := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.28.0"},
		Deps: []*debug.Module{{Path: "github.com/spf13/cobra", Version: "v1.10.2"}, {Path: delveModule, Version: "v1.27.2"}},
		Settings: []debug.BuildSetting{
			{Key: "-trimpath", Value: "true"},
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-22T04:39:54Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	got := from(stamp)
	want := Info{Version: "v1.28.0", Commit: "0123456789abcdef0123456789abcdef01234567", Time: "2026-11-22T04:39:54Z", Modified: true,
		Go: runtime.Version(), Platform: platform, Delve: "v1.27.2"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	line := "clew v1.28.0 (commit 0123456789ab with changes, 2026-11-22T04:39:54Z), " + runtime.Version() + " " + platform
	if got.String() != line {
		t.Errorf("got %q, want %q", got.String(), line)
	}
	if got, want := from(&debug.BuildInfo{}).String(), "clew (devel), "+runtime.Version()+" "+platform; got != want {
		t.Errorf("without a stamp: got %q, want %q", got, want)
	}
}
