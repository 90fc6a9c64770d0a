package debuggee

import (
	"testing"

	"github.com/clewdbg/clew/server/pluginhost"
)

// TestConfigLearns: Delve's console changes what clew needs, too.
func TestConfigLearns(t *testing.T) {
	c := DefaultConfig()
	for command, changed := range map[string]bool{
		"dlv config substitutePath /client /debugger": true, " dlv  config stackTraceDepth 12 ": false, "dlv config stackTraceDepth x": false, "dlv config": false, "x": false,
	} {
		if c.Learn(command) != changed {
			t.Errorf("%s: changed is not %v", command, changed)
		}
	}
	if depth := c.Get().Depth; depth != 12 || c.ClientPath("/debugger/x.go") != "/client/x.go" {
		t.Errorf("depth %d, %s", depth, c.ClientPath("/debugger/x.go"))
	}
}

// TestStrategyKey: sets of strategies are told apart by all that is wished.
func TestStrategyKey(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []StrategyConfig{{}, {Names: []string{"a"}}, {Names: []string{"a", "b"}}, {Names: []string{"a,b"}}, {Only: true}, {Plugins: []pluginhost.ThirdParty{{}}}} {
		if key := c.key(); seen[key] {
			t.Errorf("%+v has the key of another", c)
		} else {
			seen[key] = true
		}
	}
}
