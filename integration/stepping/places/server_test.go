//go:build linux && amd64

package places

import (
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
)

// TestServer steps out of every scene as a client of `clew exec --headless` does,
// which is Delve's server over clew's stacks: the terminal's server. Each step ends in the
// very next frame: integration/stepping/scripts has those that pass through glue.
func TestServer(t *testing.T) {
	p := need(t, "linked-g-called-by-notables")
	path := testkit.Path("clew")
	if err := testkit.BuildClew(path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", "") // not the user's own, and not that of later tests
	if err := testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "5m", "stepThroughGlue": false}`); err != nil {
		t.Fatal(err)
	}
	b := &bench{}
	for i := range scenes {
		res, err := scenes[i].try(func(r *run) (debugger, error) { return startDlv(path, r) }, p, stepOut, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		b.judge(p.variant, &scenes[i], stepOut, res)
	}
	if err := b.findings(); err != nil {
		t.Error(err)
	}
}
