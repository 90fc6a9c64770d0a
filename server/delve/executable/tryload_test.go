package executable

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// loads is set in a process that loads its last argument.
const loads = "CLEW_TEST_LOADS"

// TestLoadAlone is what that process runs.
func TestLoadAlone(t *testing.T) {
	if path := os.Getenv(loads); path != "" {
		if err := Load(path, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestTryLoad: an executable that another process does not survive, or only beyond the limits, is refused by its name.
func TestTryLoad(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	defer func(memory int, limit time.Duration, loader func(...string) (*exec.Cmd, error)) {
		tryMemory, tryTime, Loader = memory, limit, loader
	}(tryMemory, tryTime, Loader)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	Loader = func(args ...string) (*exec.Cmd, error) {
		cmd := exec.Command(self, "-test.run=^TestLoadAlone$")
		cmd.Env = append(os.Environ(), loads+"="+args[0])
		return cmd, nil
	}
	if err := TryLoad(self, nil); err != nil {
		t.Errorf("a good executable: %v", err)
	}
	refused := func(want string) {
		t.Helper()
		err := TryLoad(self, nil)
		if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), self) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	tryMemory = 1
	Loader = func(...string) (*exec.Cmd, error) { return exec.Command("sleep", "60"), nil }
	refused("1 KiB of memory")
	tryMemory, tryTime = 1<<30, time.Millisecond
	refused("more than 1ms")
	tryTime = time.Minute
	Loader = func(...string) (*exec.Cmd, error) {
		return exec.Command("sh", "-c", "echo panic: odd >&2; head -c 100000 /dev/zero >&2; exit 2"), nil
	}
	refused("panic: odd")
}
