package early

import (
	"strings"
	"testing"
)

func TestAttaches(t *testing.T) {
	for line, want := range map[string]bool{
		"attach 12":                                true,
		"--log attach 12":                          true,
		"dap --listen unix:/s":                     true,
		"dap --multi":                              false,
		"dap --session-fd=3 --join-fd=4":           false,
		"exec program -- attach":                   false,
		"stack --pid 12":                           false,
		"--log-output dap exec program --headless": true, // a front that nobody needs
		"": false,
	} {
		if got := attaches(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
