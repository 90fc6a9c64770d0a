//go:build linux

package faults

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/unwind"
)

// checkDeep compares a stack of the scenario "deep" with the program's calls:
// frames calls of descend, from Go's main. A stack of which a plugin was missing
// may end before it comes to Go; then it says so, and names the plugin.
func checkDeep(t *testing.T, s *stackjson.Stack, frames int, missing bool) {
	t.Helper()
	want := []string{"bottom"}
	for range frames {
		want = append(want, "descend")
	}
	for i, name := range want {
		if i >= len(s.Frames) || s.Frames[i].Function != name || filepath.Base(s.Frames[i].Image) != "patient" {
			t.Fatalf("frame %d of %d is not %s; stop %s: %s; notes %v", i, len(s.Frames), name, s.Stop, s.Reason, s.Notes)
		}
	}
	if missing && s.Stop == stackjson.StopTruncated && s.Reason != "" && strings.Contains(strings.Join(s.Notes, "\n"), unwind.StrategyFP) {
		return
	}
	var outer []string
	for _, f := range s.Frames[len(want):] {
		if slices.Contains(goFrames, f.Function) {
			outer = append(outer, f.Function)
		}
	}
	if !slices.Equal(outer, goFrames) || s.Stop != stackjson.StopEnd {
		t.Errorf("the outermost frames are %v; stop %s: %s; notes %v", outer, s.Stop, s.Reason, s.Notes)
	}
}

// victims are the plugins that are hit, and the strategies that clew uses then.
// Where there is another that can do without the victim, it takes its place.
var victims = []struct {
	name  string
	flags []string
	alone bool
}{
	{name: unwind.StrategyFP, flags: []string{"--strategies", unwind.StrategyFP}, alone: true},
	{name: unwind.StrategyDWARF},
}

// goFrames call the C code.
var goFrames = []string{"main._Cfunc_descend", "main.main", "runtime.main", "runtime.goexit"}

// fingerprint is what of a stack is the same in every run: not the addresses of
// stacks, and not who gave a frame where all that gave it were honest.
func fingerprint(s *stackjson.Stack) []string {
	var out []string
	for _, f := range s.Frames {
		out = append(out, fmt.Sprintf("%s %s+%v %s", f.Kind, filepath.Base(f.Image), f.Offset, f.Function))
	}
	return out
}

func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("from frame %d on, of %d and %d", i, len(a), len(b))
		}
	}
	return ""
}

// TestKillPlugin kills the plugin once in each run, at a random moment between
// its start and clew's end: before, between and during walks. The stack is the
// one of a run in peace, to the last frame.
func TestKillPlugin(t *testing.T) {
	need(t)
	for _, v := range victims {
		t.Run(v.name, func(t *testing.T) {
			const frames = 60_000
			args := slices.Concat([]string{"stack", "--format", "json"}, v.flags, []string{"--", patientPath(), "deep", fmt.Sprint(frames)})
			peace := start(t, nil, args...)
			var seen time.Duration
			if !peace.until("the plugin", func() bool { seen = time.Since(peace.began); return pluginOf(peace.pid(), v.name) != 0 }) {
				t.Fatalf("no plugin was seen; stderr %s", peace.stderr.String())
			}
			if code := peace.wait(); code != 0 {
				t.Fatalf("in peace: exit code %d; stderr %s", code, peace.stderr.String())
			}
			peace.gone(true)
			stack := peace.stacks()[0]
			checkDeep(t, &stack, frames, false)
			want := fingerprint(&stack)

			rng := random(t)
			span := peace.took - seen
			replaced, n := 0, rounds(10)
			for i := range n {
				r := start(t, nil, args...)
				var pid int
				if !r.until("the plugin", func() bool { pid = pluginOf(r.pid(), v.name); return pid != 0 }) {
					t.Fatalf("no plugin was seen; stderr %s", r.stderr.String())
				}
				delay := moment(rng, span)
				if i%3 == 0 {
					delay /= 10 // while it starts and is told of the images
				}
				time.Sleep(delay)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				for !r.over() {
					if other := pluginOf(r.pid(), v.name); other != 0 && other != pid {
						replaced++
						break
					}
					time.Sleep(time.Millisecond)
				}
				if code := r.wait(); code != 0 {
					t.Errorf("killed after %v: exit code %d; stderr %s", delay, code, r.stderr.String())
					continue
				}
				got := r.stacks()[0]
				if d := differ(want, fingerprint(&got)); d != "" {
					t.Errorf("killed after %v: another stack, %s; stop %s: %s; notes %v", delay, d, got.Stop, got.Reason, got.Notes)
				}
				r.gone(true)
			}
			t.Logf("%d of %d kills hit a plugin that was still needed (span %v)", replaced, n, span)
			if replaced == 0 {
				t.Error("no kill came while the plugin was needed")
			}
		})
	}
}

// TestKillEveryPlugin kills each plugin process as soon as it is there. clew
// gives the plugin up, says so once, and prints the stack that it finds without it.
func TestKillEveryPlugin(t *testing.T) {
	need(t)
	for _, v := range victims {
		t.Run(v.name, func(t *testing.T) {
			const frames = 500
			r := start(t, nil, slices.Concat([]string{"stack", "--format", "json"}, v.flags, []string{"--", patientPath(), "deep", fmt.Sprint(frames)})...)
			killed := make(map[int]bool)
			for !r.over() {
				if pid := pluginOf(r.pid(), v.name); pid != 0 {
					killed[pid] = true
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			r.wait()
			r.gone(true)
			stack := r.stacks()[0]
			checkDeep(t, &stack, frames, v.alone)
			if len(killed) < 2 {
				t.Errorf("%d plugins were killed", len(killed))
			}
			t.Logf("%d plugins killed; stderr %q; notes %v", len(killed), r.stderr.String(), stack.Notes)
			if len(killed) >= 3 && strings.Count(r.stderr.String(), "switched off") != 1 {
				t.Errorf("the user was not told once: %s", r.stderr.String())
			}
		})
	}
}

// TestStalledPlugin stops the plugin's process instead: the deadline passes and
// the stack comes without it.
func TestStalledPlugin(t *testing.T) {
	need(t)
	for _, v := range victims {
		t.Run(v.name, func(t *testing.T) {
			rng := random(t)
			const frames = 500
			for range rounds(3) {
				r := start(t, nil, slices.Concat([]string{"stack", "--format", "json"}, v.flags, []string{"--", patientPath(), "deep", fmt.Sprint(frames)})...)
				stopped := 0
				if !r.until("the plugin", func() bool { stopped = pluginOf(r.pid(), v.name); return stopped != 0 }) {
					t.Fatalf("no plugin was seen; stderr %s", r.stderr.String())
				}
				time.Sleep(moment(rng, 20*time.Millisecond))
				_ = syscall.Kill(stopped, syscall.SIGSTOP)
				stalled := time.Now()
				r.wait()
				took := time.Since(stalled)
				// One deadline, at most, and the time of the walk itself.
				if limit := max(pluginhost.DefaultStartTimeout, pluginhost.DefaultUpdateTimeout) + 5*second(); took > limit {
					t.Errorf("the stack came %v after the plugin was stopped, more than %v", took, limit)
				}
				r.gone(true)
				stack := r.stacks()[0]
				checkDeep(t, &stack, frames, v.alone)
				t.Logf("the stack came after %v; notes %v", took, stack.Notes)
			}
		})
	}
}

// TestKillPluginOfAttached kills the plugin while clew holds a process: it goes
// on as if nothing had been.
func TestKillPluginOfAttached(t *testing.T) {
	need(t)
	for _, v := range victims {
		t.Run(v.name, func(t *testing.T) {
			pid, pulseFile := patient(t, deepFrames)
			for range rounds(5) {
				r := start(t, nil, append([]string{"stack", "--format", "json", "--goroutine", "current", "--pid", fmt.Sprint(pid)}, v.flags...)...)
				for !r.over() {
					if p := pluginOf(r.pid(), v.name); p != 0 {
						_ = syscall.Kill(p, syscall.SIGKILL)
						break
					}
				}
				r.wait()
				if len(r.stacks()[0].Frames) == 0 {
					t.Errorf("no frames; stderr %s", r.stderr.String())
				}
				r.gone(false)
				goesOn(t, pid, pulseFile)
			}
		})
	}
}
