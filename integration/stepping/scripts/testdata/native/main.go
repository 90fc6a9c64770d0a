// The program runs native code, a group of functions for each argument.
package main

import (
	"fmt"
	"os"

	"native/fast"
	"native/plain"
	"native/plus"
)

func main() {
	groups := map[string]func() int{"plain": plain.Run, "shared": plain.Shared, "fast": fast.Run, "plus": plus.Run, "throws": plus.Throws}
	fmt.Println(groups[os.Args[1]]())
}
