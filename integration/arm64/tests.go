package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tested are packages whose tests need no compiler, in the machine.
var tested = []string{
	"cbf", "imagemap", "unwind", "unwind/rule", "unwind/wire", "internal/unwind/callsite", "internal/unwind/cfi", "internal/unwind/prologue",
	"internal/unwind/sframe", "internal/unwind/snapshot", "plugins/dwarfcfi", "plugins/fpwalk", "plugins/scan", "plugins/sframe", "server/assembler",
	"server/corefile", "server/glance", "server/internal/procfs", "server/stepping", "server/stop",
}

// buildTests builds their tests, each in a folder with its package's test data.
func buildTests(ctx context.Context, folder string) error {
	for _, pkg := range tested {
		to := filepath.Join(folder, strings.ReplaceAll(pkg, "/", "_"))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", filepath.Join(to, "test"), "./"+pkg)
		cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
		if err := command(cmd); err != nil {
			return err
		}
		data := filepath.Join(pkg, "testdata")
		if _, err := os.Stat(data); err != nil {
			continue // it has none
		}
		if err := os.CopyFS(filepath.Join(to, "testdata"), os.DirFS(data)); err != nil {
			return err
		}
	}
	return nil
}

// runTests runs them. What needs a compiler is left out, and says so.
const runTests = `bad=0
for folder in "$1"/*; do
	name=$(basename "$folder")
	cd "$folder"
	if timeout 300 ./test -test.short -test.v >/results/tests/$name.txt 2>&1; then
		echo "$name: $(grep -c '^--- PASS' /results/tests/$name.txt) passed, $(grep -c '^--- SKIP' /results/tests/$name.txt) left out"
	else
		echo "$name: FAILED"; grep -A12 -e '--- FAIL' -e '^panic' /results/tests/$name.txt | head -60; bad=1
	fi
done
exit $bad`
