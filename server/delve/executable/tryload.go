package executable

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// The executable beside a core file may come from a stranger, as the core file does. Delve reads it without a limit, and
// does not survive every damaged one: it panics in goroutines of its own, where nothing recovers. So another process loads it first,
// with Delve's own loader, under limits; what that does not survive is not opened.

// Limits of the process that loads an executable first. Variables for the tests.
var (
	tryMemory = 4 << 20 // KiB
	tryTime   = 2 * time.Minute
)

// Loader makes the command that runs [Load] with more arguments; nil: executables beside core files are not tried. It is set once.
var Loader func(args ...string) (*exec.Cmd, error)

// Load loads an executable as a session would, and returns what is wrong with it. folders are those of separate debug files.
func Load(executable string, folders []string) error {
	f, err := elffile.Open(executable)
	if err != nil {
		return err
	}
	machine, entry := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine], cmp.Or(f.Entry, 1)
	f.Close()
	if machine == "" {
		return nil // Delve says so
	}
	bi := proc.NewBinaryInfo("linux", machine, false)
	_ = bi.LoadBinaryInfo(executable, entry, folders) // which reads no position-independent one at 0; its error comes again: what counts is that there is one, and no end of the process
	return bi.Close()
}

// TryLoad has another process load an executable, and returns a [*RefusedError] if that did not survive it.
func TryLoad(executable string, folders []string) error {
	if Loader == nil {
		return nil
	}
	cmd, err := Loader(append([]string{executable}, folders...)...)
	if err != nil {
		return err
	}
	said := &beginning{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a process that loads %s first cannot be started: %w", executable, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(tryTime)
	defer tick.Stop()
	refuse := func(why string) error {
		_, _ = cmd.Process.Kill(), <-ended // which says that it was killed
		return &RefusedError{executable, errors.New(why)}
	}
	for {
		select {
		case err := <-ended:
			if err != nil {
				return &RefusedError{executable, fmt.Errorf("what loads it first does not survive it (%w: %s)", err, said.line())}
			}
			return nil
		case <-late:
			return refuse(fmt.Sprintf("Delve needs more than %v for it", tryTime))
		case <-tick.C:
			if resident(cmd.Process.Pid) > tryMemory {
				return refuse(fmt.Sprintf("Delve needs more than %d KiB of memory for it", tryMemory))
			}
		}
	}
}

// resident is how much memory a process has, in KiB; 0 where that is not known.
func resident(pid int) int {
	status, err := procfs.ReadStatus(pid)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(status.Field("VmRSS"), " kB"))
	return n
}

// beginning keeps the first bytes that are written to it.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 4 << 10
	_, _ = b.Buffer.Write(p[:min(len(p), max(0, most-b.Len()))])
	return len(p), nil
}

// ReadFrom would pass Write by.
func (b *beginning) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}

func (b *beginning) line() string {
	line, _, _ := strings.Cut(b.String(), "\n")
	return line
}
