// Package auto switches crash reports on where it is imported:
//
//	import _ "github.com/clewdbg/clew/crash/auto"
//
// It reads environment variables. CLEW_CRASH=off switches it off. CLEW_CRASH_DIR is the folder for reports, CLEW the path of clew. Where reports cannot
// be switched on, a line in the log says why, and the program runs as without.
package auto

import (
	"log"
	"os"

	"github.com/clewdbg/clew/crash"
)

func init() {
	if os.Getenv("CLEW_CRASH") == "off" {
		return
	}
	if err := crash.Install(crash.Options{Dir: os.Getenv("CLEW_CRASH_DIR")}); err != nil {
		log.Print(err)
	}
}
