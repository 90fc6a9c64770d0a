package pluginhost

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/clewdbg/clew/unwind/plugin/example/framechain"
)

// TestMain makes three programs of the test binary: the tests; a built-in
// plugin, as the host starts it; and a host, to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		plugin.Serve(&fake{name: os.Args[2]})
		os.Exit(0)
	}
	if os.Getenv(envHost) != "" {
		if err := runHost(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A PC from here on is not an address but an order to the fake.
const (
	pcPanic      uint64 = 0xdead0000 + iota // end as a plugin with a bug does
	pcPanicOnce                             // the same, but only in the first process
	pcStall                                 // never answer, whatever the context says
	pcSlow                                  // answer, but take a while
	pcLie                                   // answer with more steps than asked for
	pcBoast                                 // answer with more trust than described
	pcRefuse                                // return an error
	pcHoard                                 // allocate 8 GiB
	pcStart                                 // start a process that ends late, and report its ID
	pcReport                                // report the images and ranges, as the reason
	pcSpin                                  // answer, and be busy from then on
	pcSpinApart                             // the same, in a process that it starts
	pcStray                                 // start a process in a session of its own, and report its ID
	pcHoardApart                            // start six processes that keep 100 MB each
)

// quickExit: a program with the race detector sleeps for a second as it exits.
const quickExit = "GORACE=atexit_sleep_ms=0"

const envMarker = "CLEW_TEST_MARKER" // file that makes pcPanicOnce end

// fake is a frame pointer walk that can be told to misbehave.
type fake struct {
	framechain.Unwinder
	name   string
	images []unwind.ImageID
	yield  int
}

func (f *fake) Describe(ctx context.Context) (unwind.Description, error) {
	d, err := f.Unwinder.Describe(ctx)
	d.Name = f.name
	return d, err
}

func (f *fake) Update(ctx context.Context, d unwind.ImageDelta) ([]unwind.ImageReport, error) {
	f.images = slices.DeleteFunc(f.images, func(id unwind.ImageID) bool { return slices.Contains(d.Removed, id) })
	for _, img := range d.Added {
		switch img.Path {
		case "refuse":
			return nil, errors.New("no such image, please")
		case "panic":
			panic("image with a poisoned table")
		}
		f.images = append(f.images, img.ID)
	}
	return f.Unwinder.Update(ctx, d)
}

func (f *fake) Yield(ctx context.Context, r unwind.RangeSet) error {
	f.yield = len(r)
	return f.Unwinder.Yield(ctx, r)
}

func (f *fake) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	pc, _ := requests[0].Registers.PC(requests[0].Arch)
	switch pc {
	case pcPanic:
		panic("walked into a wall")
	case pcPanicOnce:
		if file, err := os.OpenFile(os.Getenv(envMarker), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = file.Close()
			panic("walked into a wall for the first time")
		}
	case pcStall:
		for {
			time.Sleep(time.Hour)
		}
	case pcSlow:
		time.Sleep(100 * time.Millisecond)
	case pcLie:
		return []unwind.WalkResult{{Steps: make([]unwind.Step, requests[0].MaxFrames+1), Stop: unwind.StopEnd}}, nil
	case pcBoast:
		return []unwind.WalkResult{{Steps: []unwind.Step{{Trust: unwind.TrustContext}}, Stop: unwind.StopEnd}}, nil
	case pcRefuse:
		return nil, errors.New("not on a Sunday")
	case pcHoard:
		hoard := make([]byte, 8<<30)
		for i := 0; i < len(hoard); i += 4096 {
			hoard[i] = 1
		}
	case pcStart:
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return []unwind.WalkResult{{Stop: unwind.StopNoRule, Reason: strconv.Itoa(cmd.Process.Pid)}}, nil
	case pcSpin:
		go func() {
			for { //nolint:staticcheck // it is there to take processor time
			}
		}()
	case pcSpinApart:
		if err := exec.Command("sh", "-c", "(while :; do :; done) &").Run(); err != nil {
			return nil, err
		}
	case pcStray:
		out, err := exec.Command("sh", "-c", `setsid sleep 600 >/dev/null 2>&1 & echo $!`).Output()
		if err != nil {
			return nil, err
		}
		return []unwind.WalkResult{{Stop: unwind.StopNoRule, Reason: strings.TrimSpace(string(out))}}, nil
	case pcHoardApart:
		hoard := exec.Command("sh", "-c", `for i in 1 2 3 4 5 6; do (x=$(head -c 100000000 /dev/zero | tr '\0' a); sleep 600; echo "$x") & done`)
		if err := hoard.Run(); err != nil {
			return nil, err
		}
	case pcReport:
		return []unwind.WalkResult{{Stop: unwind.StopNoRule, Reason: f.report()}}, nil
	}
	return f.Unwinder.Walk(ctx, requests)
}

func (f *fake) report() string {
	input, err := io.ReadAll(os.Stdin)
	wd, _ := os.Getwd()
	return fmt.Sprintf("images=%v yield=%d stdin=%q,%v wd=%s env=%s",
		f.images, f.yield, input, err, wd, strings.Join(os.Environ(), " "))
}

// frameSize is that of the stacks in the plugin contract's measurements.
const frameSize = 128

// chain makes a stack of n frames, and the request for its callers.
func chain(n int) unwind.WalkRequest {
	const base = 0x7f0000000000
	stack := make([]byte, n*frameSize)
	for i := range n {
		next := uint64(base + (i+1)*frameSize)
		if i == n-1 {
			next = 0
		}
		binary.LittleEndian.PutUint64(stack[i*frameSize:], next)
		binary.LittleEndian.PutUint64(stack[i*frameSize+8:], uint64(0x400000+i))
	}
	r := unwind.WalkRequest{Arch: unwind.AMD64, MaxFrames: n + 1, Stack: unwind.Windows{{Addr: base, Data: stack}}}
	r.Registers.Set(unwind.AMD64RIP, 0x400000)
	r.Registers.Set(unwind.AMD64RSP, base)
	r.Registers.Set(unwind.AMD64RBP, base)
	return r
}

func order(pc uint64) []unwind.WalkRequest {
	r := chain(3)
	r.Registers.Set(unwind.AMD64RIP, pc)
	return []unwind.WalkRequest{r}
}

// checkWalk walks n frames and compares them all.
func checkWalk(t testing.TB, p unwind.Unwinder, n int) {
	t.Helper()
	results, err := p.Walk(context.Background(), []unwind.WalkRequest{chain(n)})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	checkSteps(t, results, n)
}

func checkSteps(t testing.TB, results []unwind.WalkResult, n int) {
	t.Helper()
	if len(results) != 1 || len(results[0].Steps) != n || results[0].Stop != unwind.StopEnd {
		t.Fatalf("got %d results, the first with %d steps: %v %s; want %d steps to the end", len(results), len(results[0].Steps), results[0].Stop, results[0].Reason, n)
	}
	for i := range results[0].Steps {
		if pc, _ := results[0].Steps[i].Caller.PC(unwind.AMD64); pc != uint64(0x400000+i) {
			t.Fatalf("step %d has the return address %#x", i, pc)
		}
	}
}

// notices collects the notices for the user.
type notices chan string

func (n notices) take() []string {
	var all []string
	for {
		select {
		case s := <-n:
			all = append(all, s)
		default:
			return all
		}
	}
}

// newHost makes a host with one built-in plugin, fake. Deadlines are long
// unless the test changes them: the machine may be busy.
func newHost(t testing.TB, change func(*Options)) (*Host, *Plugin, notices) {
	t.Helper()
	sent := make(notices, 100)
	parent := shortDir(t)
	o := Options{
		Plugins:       []Config{{Name: "fake", Rank: 1, Env: []string{quickExit, envMarker + "=" + filepath.Join(parent, "marker")}}},
		SessionParent: parent,
		WalkTimeout:   10 * time.Second,
		StartTimeout:  30 * time.Second,
		OnNotice:      func(s string) { sent <- s },
	}
	if change != nil {
		change(&o)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if left := sessions(t, parent); len(left) > 0 {
			t.Errorf("session folders left: %v", left)
		}
	})
	return h, h.Plugins()[0], sent
}

// shortDir is a folder whose path leaves room for sockets, which that of
// t.TempDir may not.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ph")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func sessions(t testing.TB, parent string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(parent, plugin.SessionPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func pid(t testing.TB, p *Plugin) int {
	t.Helper()
	h := p.health()
	if h.State != StateRunning || h.PID == 0 {
		t.Fatalf("the plugin is %s with pid %d", h.State, h.PID)
	}
	return h.PID
}
