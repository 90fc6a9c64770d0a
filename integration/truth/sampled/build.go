//go:build linux && (amd64 || arm64)

package sampled

import (
	"bytes"
	"debug/elf"
	"embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed drivers
var drivers embed.FS

// hostPackage is the Go program that runs the workloads.
const hostPackage = "github.com/clewdbg/clew/integration/truth/sampled/testdata/program"

// command runs a tool.
func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// builder makes programs in a folder, for linux/arm64 on another machine, or finds them.
type builder struct {
	dir          string
	arm64, built bool
	musl         bool // as the C library
}

const (
	armCompiler  = "aarch64-linux-gnu-gcc"
	muslCompiler = "musl-gcc" // Debian: musl-tools
)

func (b builder) program() (program, error) {
	path := filepath.Join(b.dir, "program")
	if b.built {
		return openProgram(path)
	}
	cmd := exec.Command("go", "build", "-o", path, hostPackage)
	if b.arm64 {
		cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=1", "CC="+armCompiler)
	}
	if b.musl {
		cmd.Env = append(os.Environ(), "CC="+muslCompiler)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return openProgram(path)
}

// driver builds a library's workload.
func (b builder) driver(l *library) (path string, err error) {
	args := []string{"-O2", "-shared", "-fPIC"}
	compiler, source := "gcc", l.name+".c"
	if l.name == "stdcxx" {
		compiler, source = "g++", l.name+".cc"
	}
	if l.file == "" || b.built {
		return filepath.Join(b.dir, l.name+".so"), nil
	}
	if b.musl { // it is linked with its C library anyway
		return b.compile(muslCompiler, source, l.name, args...)
	}
	for _, f := range append([]string{l.file}, l.further...) {
		args = append(args, "-Wl,--no-as-needed", "-l:"+f)
		if b.arm64 { // the linker takes a library for it that has its name alone
			compiler, args = armCompiler, append(args, "-L"+b.dir)
			if err := command(compiler, "-shared", "-Wl,-soname,"+f, "-o", filepath.Join(b.dir, f), "-xc", "/dev/null"); err != nil {
				return "", err
			}
		}
	}
	return b.compile(compiler, source, l.name, args...)
}

// variant builds the workload that variants have in common.
func (b builder) variant(v variant, name string, strip bool) (path string, err error) {
	args := strings.Fields(bare + v.flags)
	if strip {
		args = append(args, "-s")
	}
	return b.compile(v.compiler, "variants.c", name, args...)
}

func (b builder) compile(compiler, source, name string, args ...string) (path string, err error) {
	text, err := drivers.ReadFile("drivers/" + source)
	if err != nil {
		return "", err
	}
	from, path := filepath.Join(b.dir, source), filepath.Join(b.dir, name+".so")
	if err := os.WriteFile(from, text, 0o600); err != nil {
		return "", err
	}
	return path, command(compiler, append([]string{"-o", path, from}, args...)...)
}

// folders that Debian keeps libraries in.
var folders = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}

func find(file string) (string, error) {
	for _, dir := range folders {
		if path := filepath.Join(dir, file); exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no library %s", file)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// strip makes a copy of a library without .eh_frame, and returns its folder.
func (b builder) strip(l *library) (dir string, err error) {
	path, err := find(l.file)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(b.dir, "without", l.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(dir, l.file)
	if err := command("objcopy", "--remove-section", ".eh_frame", "--remove-section", ".eh_frame_hdr", path, to); err != nil {
		return "", err
	}
	return dir, dropEHHeader(to)
}

// dropEHHeader makes the program header PT_GNU_EH_FRAME one that means nothing.
func dropEHHeader(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	at, size := binary.LittleEndian.Uint64(data[32:]), binary.LittleEndian.Uint16(data[54:])
	for i, p := range f.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			binary.LittleEndian.PutUint32(data[at+uint64(i)*uint64(size):], uint32(elf.PT_NULL))
		}
	}
	return os.WriteFile(path, data, 0o700)
}
