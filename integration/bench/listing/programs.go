package listing

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

//go:embed testdata/programs
var sources embed.FS

// build is one of the programs in testdata/programs, and how it is built.
type build struct {
	name  string
	flags []string
	cgo   bool
}

var builds = []build{
	{name: "channels"},
	{name: "locks"},
	{name: "server"},
	{name: "deep"},
	{name: "labels", flags: []string{"-buildmode=pie"}},
	{name: "pipes"},
	{name: "stdlib", flags: []string{"-gcflags=-N -l"}},
	{name: "pipeline", flags: []string{"-buildmode=pie"}},
	{name: "native", cgo: true},
	{name: "mixed", flags: []string{"-buildmode=pie"}, cgo: true},
}

// make builds it with a release of Go ("local": the one at hand), and returns the path.
func (b *build) make(folder, release string, strip bool) (string, error) {
	source := filepath.Join(folder, release+"-"+b.name)
	if err := os.MkdirAll(source, 0o755); err != nil {
		return "", err
	}
	files := map[string][]byte{"go.mod": fmt.Appendf(nil, "module program\n\ngo %s\n", strings.TrimPrefix(strings.Replace(release, "local", "1.24", 1), "go"))}
	for _, name := range []string{"report", b.name} {
		data, err := sources.ReadFile("testdata/programs/" + name + ".go")
		if err != nil {
			return "", err
		}
		files[name+".go"] = data
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(source, name), data, 0o644); err != nil {
			return "", err
		}
	}
	args, path := append([]string{"build"}, b.flags...), filepath.Join(source, "whole")
	if strip {
		args, path = append(args, "-ldflags=-s -w"), filepath.Join(source, "stripped")
	}
	c := exec.Command("go", append(args, "-o", path, ".")...)
	c.Dir = source
	c.Env = append(os.Environ(), "GOTOOLCHAIN="+release, "GOFLAGS=", "CGO_ENABLED=0")
	if b.cgo {
		c.Env = append(c.Env, "CGO_ENABLED=1")
	}
	return path, testkit.Run(c)
}

// run starts a program, and returns it once it has written what its goroutines do.
func run(path string) (cmd *exec.Cmd, report string, err error) {
	file := path + ".report"
	_ = os.Remove(file)
	cmd = exec.Command(path, file)
	// One processor: goroutines of two runs have the same IDs. No collection starts others.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off")
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			return cmd, string(text), nil
		}
	}
	end(cmd)
	return nil, "", fmt.Errorf("%s does not write what its goroutines do", path)
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
