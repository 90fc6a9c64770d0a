package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/clewdbg/clew/crash"
)

// install switches crash reports on where the test asks for them.
func install() {
	dir := os.Getenv("REPORTS")
	if dir == "" {
		return
	}
	o := crash.Options{Dir: dir, Snapshot: os.Getenv("SNAPSHOT") != ""}
	o.MaxSize, _ = strconv.Atoi(os.Getenv("MAX_SIZE"))
	if path := os.Getenv("OUTPUT"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			panic(err)
		}
		o.Output = f
	}
	if err := crash.Install(o); err != nil {
		fmt.Fprintln(os.Stderr, "dies:", err)
	}
}
