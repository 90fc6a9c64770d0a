package dap

import (
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
)

// remote attaches to the program that a headless server holds, lets it run, and
// waits for its stop.
func (c *client) remote(arguments object) (stopped object) {
	c.t.Helper()
	c.initialize()
	all := object{"mode": "remote"}
	for name, value := range arguments {
		all[name] = value
	}
	c.ok("attach", all)
	c.event("initialized")
	c.ok("configurationDone", nil)
	return c.event("stopped")
}

// TestProxyStacks: through clew proxy, too, stackTrace returns the stack that the
// program recorded about itself. Delve passes over a breakpoint instruction in
// functions that it does not know: without DWARF the program stops in Go.
func TestProxyStacks(t *testing.T) {
	scenarios := map[string][]int{ // by variant, indices into program.Scenarios
		"static-O1-g-fp":          {2, 4},
		"static-O2-omit":          {1},
		"linked-O2-omit-stripped": {1},
		"opened-O2-fp-stripped":   {1},
	}
	for name, which := range scenarios {
		v, ok := program.Named(name)
		if !ok {
			t.Fatal(name)
		}
		for _, i := range which {
			sc := program.Scenarios[i]
			t.Run(name+"/"+sc.Name+"-"+sc.Stop, func(t *testing.T) {
				t.Parallel()
				p := native(t, v.Name)
				stem := filepath.Join(t.TempDir(), "record")
				up := headless(t, []string{"env", "NATIVE_LIBRARY=" + p.Library}, true, p.Path, sc.Name, sc.Stop, stem)
				proxy := proxyTo(t, up)
				c := proxy.dial()
				c.elsewhere = true
				c.sameAsRecorded(t, threadOf(t, c.remote(nil)), v, sc, stem)
				c.disconnect()
				for _, s := range []*server{up, proxy} {
					if err := s.wait(); err != nil {
						t.Errorf("%s ends with %v: %s", s.cmd.Path, err, s.stderr)
					}
				}
			})
		}
	}
}
