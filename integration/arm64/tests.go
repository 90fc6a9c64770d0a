package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// tested are packages that know of processors and processes.
var tested = []string{
	"cbf", "imagemap", "unwind", "unwind/rule", "unwind/wire", "internal/unwind/callsite", "internal/unwind/cfi", "internal/unwind/prologue",
	"sframe", "internal/unwind/snapshot", "plugins/dwarfcfi", "plugins/fpwalk", "plugins/scan", "plugins/sframe", "server/assembler",
	"server/corefile", "server/glance", "server/internal/procfs", "server/stepping", "server/stop",
}

// testedMore are other packages whose tests need no go command, or say so.
var testedMore = []string{
	"imagemap/envelope", "imagemap/macho", "internal/elffile", "internal/gdbstub", "internal/printable", "internal/testneed",
	"internal/unwind/codemodel", "internal/unwind/gocode", "internal/unwind/inspect", "internal/unwind/jsonread", "internal/unwind/lsda",
	"internal/unwind/simulate", "internal/unwind/snapshot/schema", "internal/unwind/stackjson", "internal/unwind/tablewalk",
	"internal/unwind/walk", "internal/version", "plugins/compactunwind", "plugins/compactunwind/table", "server/dap/debuggee",
	"server/dap/frames", "server/dap/wire", "server/dapwire", "server/debuginfod", "server/delve/internals", "server/engine",
	"server/export/document", "server/internal/blocks", "server/internal/bounded", "server/internal/goruntime", "server/internal/jit",
	"server/internal/peer", "server/lifeline", "server/listing", "server/names", "server/session", "server/stop/stoptest",
	"server/symbols/dwarfline", "unwind/conformance", "unwind/plugin", "unwind/plugin/example/framechain", "unwind/stackasm", "cmd/clew",
	"server/dap", "server/dap/serve",
}

// cat is what a test looks into while it runs: busybox has no program of that name alone.
const cat = `#include <unistd.h>
int main(void) {
	char b[4096];
	ssize_t n;
	while ((n = read(0, b, sizeof b)) > 0)
		if (write(1, b, n) != n) return 1;
	return 0;
}
`

// buildTests builds tests of packages, each in its place in a copy of the sources.
func buildTests(packages []string) builder {
	return func(ctx context.Context, folder string) error {
		tree, source := filepath.Join(folder, "tree"), filepath.Join(folder, "cat.c")
		err := errors.Join(os.MkdirAll(filepath.Join(folder, "bin"), 0o755), os.WriteFile(source, []byte(cat), 0o644), copyModule(tree, "."))
		if err != nil {
			return err
		}
		if err := command(exec.CommandContext(ctx, "aarch64-linux-gnu-gcc", "-O1", "-o", filepath.Join(folder, "bin", "cat"), source)); err != nil {
			return err
		}
		for _, pkg := range packages {
			cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", filepath.Join(tree, pkg, "package.test"), "./"+pkg)
			cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
			if err := command(cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// runTests runs them. What needs a compiler is left out, and says so. The machine's xz cannot compress.
const runTests = `bad=0
results=$PWD
rm -f /bin/xz
PATH="$1"/bin:$PATH
cd "$1"/tree
for test in $(find . -name package.test | sort); do
	name=$(dirname "$test" | cut -c3-)
	out=$results/$(echo "$name" | tr / _).txt
	if (cd "$name" && timeout 300 ./package.test -test.short -test.v) >"$out" 2>&1; then
		echo "$name: $(grep -c '^--- PASS' "$out") passed, $(grep -c '^--- SKIP' "$out") left out"
	else
		echo "$name: FAILED"; grep -B12 -e '--- FAIL' -e '^panic' "$out" | head -60; bad=1
	fi
	rm "$test"
done
exit $bad`
