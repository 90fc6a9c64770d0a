// Command example is a whole third-party plugin. Build it, take its SHA-256 and
// name both in clew.json:
//
//	{"plugins": [{"name": "framechain", "path": "/opt/clew/framechain",
//	              "sha256": "...", "rank": 4}]}
package main

import (
	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/clewdbg/clew/unwind/plugin/example/framechain"
)

func main() { plugin.Serve(&framechain.Unwinder{}) }
