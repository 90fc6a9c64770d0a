package hosted

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed testdata
var source embed.FS

// Programs are the executables: Linked has the library from its start, Opened opens
// it in its main function. Each takes the name of a file for its record.
type Programs struct{ Linked, Opened string }

// Build builds them in a folder, with a C compiler.
func Build(folder, cc string) (Programs, error) {
	p := Programs{filepath.Join(folder, "linked"), filepath.Join(folder, "opened")}
	if err := os.CopyFS(folder, source); err != nil {
		return p, err
	}
	host, library := filepath.Join(folder, "testdata", "host.c"), filepath.Join(folder, "libwork.so")
	for _, command := range [][]string{
		{"go", "build", "-buildmode=c-shared", "-o", library, filepath.Join(folder, "testdata/library/main.go")},
		{cc, "-g", "-O1", "-o", p.Linked, host, "-L" + folder, "-lwork", "-Wl,-rpath," + folder},
		{cc, "-g", "-O1", "-o", p.Opened, host, fmt.Sprintf("-DLIBRARY=%q", library), "-ldl"},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+cc)
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return p, nil
}

// Record reads the return addresses that a program has recorded, innermost first.
func Record(name string) (addrs []uint64, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for field := range strings.FieldsSeq(string(data)) {
		var addr uint64
		if _, err := fmt.Sscanf(field, "0x%x", &addr); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, field, err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
