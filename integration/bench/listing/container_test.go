package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// inContainer runs a program in namespaces of its own for processes and mounts, in a root
// folder that has the program, what it links, and clew. It returns the program's ID here.
func inContainer(t *testing.T, program string) (pid int, root string) {
	t.Helper()
	root = t.TempDir()
	linked, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"/bin/v": program, "/bin/clew": clewPath}
	for _, word := range strings.Fields(string(linked)) {
		if strings.HasPrefix(word, "/") {
			files[word] = word
		}
	}
	for to, from := range files {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, to), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"old", "proc", "dev", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const enter = `mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount --rbind /dev dev && pivot_root . old && exec /bin/v /report`
	var said bytes.Buffer
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", root)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		testneed.LeaveOut(t, "unshare: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(root, "report")); err == nil {
			var child int
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
			if _, err := fmt.Sscan(string(text), &child); err != nil {
				t.Fatalf("the children of unshare are %q", text)
			}
			return child, root
		}
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid)); err != nil { // it has ended
			testneed.LeaveOut(t, "no namespaces can be made here: %s", said.String())
		}
	}
	t.Fatal("the program does not write what its goroutines do")
	return 0, ""
}

// TestContainer: a process in other namespaces is listed with the files of its own root folder,
// from here and by a clew that is in there with it.
func TestContainer(t *testing.T) {
	testneed.Ptrace(t)
	testneed.CC(t)
	unshare := testneed.Tool(t, "unshare")
	if os.Getuid() != 0 {
		testneed.LeaveOut(t, "%s needs root", unshare)
	}
	native := build{name: "native", cgo: true}
	program, err := native.make(t.TempDir(), runtime.Version(), true)
	if err != nil {
		t.Fatal(err)
	}
	pid, root := inContainer(t, program)
	report, err := os.ReadFile(filepath.Join(root, "report"))
	if err != nil {
		t.Fatal(err)
	}
	own := parse(string(report))
	for from, command := range map[string][]string{
		"here":  {clewPath, "stack", "--pid", fmt.Sprint(pid), "--format", "json"},
		"there": {"nsenter", "--target", fmt.Sprint(pid), "--mount", "--pid", "--root", "/bin/clew", "stack", "--pid", "1", "--format", "json"},
	} {
		t.Run(from, func(t *testing.T) {
			c := exec.Command(command[0], command[1:]...)
			var said bytes.Buffer
			c.Stderr = &said
			c.Env = append(os.Environ(), "HOME=/tmp")
			out, err := c.Output()
			if err != nil || said.Len() > 0 {
				t.Fatalf("%v: %s", err, said.String())
			}
			var answer stackjson.Answer
			if err := json.Unmarshal(out, &answer); err != nil {
				t.Fatal(err)
			}
			found, inC := 0, 0
			for i := range answer.Stacks {
				s := &answer.Stacks[i]
				if len(s.Notes) > 0 {
					t.Errorf("goroutine %d: %q", s.Goroutine, s.Notes)
				}
				want, known := own[s.Goroutine]
				if !known || s.Goroutine == 1 {
					continue
				}
				found++
				if problem := contradicts(s, want); problem != "" {
					t.Errorf("goroutine %d: %s", s.Goroutine, problem)
				}
				if f := s.Frames[0]; strings.Contains(f.Image, "libc.so") && f.Function != "" {
					inC++
				}
			}
			if found != len(own)-1 || inC < 6 {
				t.Errorf("%d goroutines of %d, %d with a name in the C library", found, len(own)-1, inC)
			}
		})
	}
}
