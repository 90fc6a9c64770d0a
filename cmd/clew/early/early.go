// Package early takes over the processes that only wait: guards, and fronts of sessions (server/lifeline). Go sets packages up in the order
// of their paths and of what they import, so this one comes before Delve, gRPC and what else clew is made of: a process
// that ends here costs two milliseconds and as many megabytes. TestEarly demands that it stays so.
package early

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/server/lifeline"
)

func init() {
	args := os.Args[1:]
	switch {
	case len(args) > 1 && args[0] == crashguard.Command && args[1] != "--help" && args[1] != "-h":
		if code, work := crashguard.Main(args[1:]); !work {
			os.Exit(code)
		}
	case len(args) > 0 && args[0] == lifeline.Command:
		lifeline.Main()
		os.Exit(0)
	case lifeline.BehindFront() == nil && attaches(args):
		code, err := lifeline.Front()
		if err != nil {
			fmt.Fprintf(os.Stderr, "clew: %v\n", err)
			code = 1
		}
		os.Exit(code)
	}
}

// attaches says that a command line may be that of a session that attaches to a process: an editor says so only
// when its session runs. Flags may stand before the command, and their values look like it; a front that nobody needs harms nobody.
func attaches(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(a string) bool { return a == "attach" || a == "dap" }) &&
		!slices.ContainsFunc(args, func(a string) bool { // a server of many sessions traces nothing, and each of them has another process for its editor
			return strings.HasPrefix(a, "--multi") || strings.HasPrefix(a, "--session-fd")
		})
}
