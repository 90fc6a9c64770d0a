package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPlaces: what the memory of a frame holds is where its variables lie; registers that its function has saved are there too, in words.
func TestPlaces(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	for _, optimized := range []string{"-O0", "-O2"} {
		t.Run(optimized, func(t *testing.T) {
			c := start(t, binary("clew")).dial()
			c.initialize()
			c.ok("launch", object{"mode": "exec", "program": everywhere(t, optimized), "outputMode": "remote"})
			c.event("initialized")
			c.ok("configurationDone", nil)
			variables, saved := 0, 0
			for _, f := range c.stack(threadOf(t, c.event("stopped")), 0, 4).StackFrames {
				var body struct {
					Places []struct {
						Name, Kind, Type, Value, Address, Register, RestsOn string
						Size                                                int64
					}
				}
				decode(t, c.request("clew/places", object{"frameId": f.ID}), &body)
				for _, p := range body.Places {
					switch {
					case p.Kind == "saved":
						saved++
						m := c.request("evaluate", object{"expression": "*(unsigned long *)" + p.Address + " != 0 || true", "frameId": f.ID, "context": "watch"})
						if !m.Success || p.Size != 8 {
							t.Errorf("%s: %s is saved at %s: %s", f.Name, p.Name, p.Address, m.Bytes())
						}
					case p.Register != "" && p.RestsOn == "":
						t.Errorf("%s: %s lies in %s, and it is not said what that rests on", f.Name, p.Name, p.Register)
					case p.Address != "" && !strings.HasPrefix(p.Value, "@") && optimized == "-O0":
						variables++
						var at struct{ Result string }
						m := c.request("evaluate", object{"expression": "(long)&" + p.Name + " == " + p.Address + " && sizeof(" + p.Name + ") <= " + itoa(int(p.Size)), "frameId": f.ID, "context": "watch"})
						if !m.Success || m.Decode("body", &at) != nil || at.Result != "true" {
							t.Errorf("%s: %s lies at %s, %d bytes: %s", f.Name, p.Name, p.Address, p.Size, m.Bytes())
						}
					}
				}
			}
			if saved < 4 || optimized == "-O0" && variables < 8 {
				t.Errorf("%d variables, %d saved registers", variables, saved)
			}
			if m := c.request("clew/places", object{"frameId": 77}); m.Success || !strings.Contains(string(m.Bytes()), "frameId") {
				t.Errorf("a frame that does not exist: %s", m.Bytes())
			}
			c.disconnect()
		})
	}
}
