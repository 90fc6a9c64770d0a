//go:build linux

package crash

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestSnapshot: from the snapshot that a report has if asked for, the stack that died is unwound again.
func TestSnapshot(t *testing.T) {
	dir, _, _, _ := reported(t, dies(t, false), "read", "SNAPSHOT=1")
	r, path := theReport(t, dir)
	out, errs, state := run(t, "", nil, testkit.Path("clew"), "unwind", filepath.Join(path, "crash.snapshot.json"))
	var again struct{ Stacks []stackjson.Stack }
	if err := json.Unmarshal([]byte(out), &again); err != nil || state.ExitCode() != 0 || len(again.Stacks) != 1 {
		t.Fatalf("%v %v\n%.300s%s", state, err, out, errs)
	}
	pcs := func(s *stackjson.Stack) (out []stackjson.Address) {
		for _, f := range s.Frames {
			out = append(out, f.PC)
		}
		return out
	}
	if a, b := pcs(&again.Stacks[0]), pcs(&r.Stacks[0]); !slices.Equal(a, b) {
		t.Errorf("%v, want %v", a, b)
	}
	dir, _, _, _ = reported(t, dies(t, false), "read")
	_, path = theReport(t, dir)
	if _, err := os.Stat(filepath.Join(path, "crash.snapshot.json")); err == nil {
		t.Error("a report has a snapshot that nobody has asked for")
	}
}

// TestSize: a report keeps to the size that was asked for, and always has the stack that died.
func TestSize(t *testing.T) {
	dir, _, _, _ := reported(t, dies(t, false), "read", "MAX_SIZE=24000")
	r, path := theReport(t, dir)
	size := int64(0)
	for _, name := range []string{"report.json", "report.txt", "crash.cbf", "crash.cif"} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 24000 || len(r.Stacks) == 0 || r.Stacks[0].Thread != r.Crash.Thread {
		t.Errorf("%d bytes, %d stacks", size, len(r.Stacks))
	}
}

// TestUnprivileged: a user without privileges gets reports, in a user namespace too.
func TestUnprivileged(t *testing.T) {
	testneed.Ptrace(t)
	if os.Geteuid() != 0 {
		testneed.LeaveOut(t, "only root can become another user")
	}
	folder, err := os.MkdirTemp("", "unprivileged")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for _, name := range []string{"clew", "dies"} { // the user may not enter the folder that they are in
		from := testkit.Path("clew")
		if name == "dies" {
			from = dies(t, false)
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const user = 65534
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range [][]string{nil, {"unshare", "--user", "--map-root-user"}} {
		dir := filepath.Join(folder, "reports", map[bool]string{true: "plain", false: "namespace"}[prefix == nil])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
		if prefix != nil && as(user, "unshare", "--user", "--map-root-user", "true").Run() != nil {
			t.Log("no user namespaces here")
			continue
		}
		cmd := as(user, append(prefix, filepath.Join(folder, "dies"), "read")...)
		cmd.Env = append(cmd.Env, "REPORTS="+dir, "CLEW="+filepath.Join(folder, "clew"))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
			t.Fatalf("%v: %v\n%.500s", prefix, cmd.ProcessState, errs.String())
		}
		r, _ := theReport(t, dir)
		for _, w := range ways {
			if w.how == "read" {
				w.check(t, r, errs.String(), w.signal)
			}
		}
	}
}

// as is a command of another user's.
func as(user uint32, command ...string) *exec.Cmd {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	return cmd
}
