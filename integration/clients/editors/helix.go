package editors

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// findHelix finds Helix, and tmux, which is its terminal.
func findHelix(w *work) (f *found, err error) {
	f = new(found)
	if _, err := exec.LookPath("tmux"); err != nil {
		return nil, err
	}
	if w.trixie != "" {
		var root string
		if f.command, root, err = w.debian("hx", "hx"); err != nil {
			return nil, err
		}
		f.env = []string{"HELIX_RUNTIME=" + root + "/usr/lib/hx/runtime"}
	} else {
		path, err := exec.LookPath("hx")
		if err != nil {
			return nil, fmt.Errorf("%w (Debian 13 has it: -trixie)", err)
		}
		f.argv = []string{path}
	}
	out, err := w.run(f.with("--version"))
	f.version = strings.Replace(strings.TrimSpace(out), "helix", "Helix", 1)
	return f, err
}

// helixConfig is that of docs/editors.md, for a file of C's and a program that is built.
const helixConfig = `[[language]]
name = "c"
scope = "source.c"
file-types = ["c"]

[language.debugger]
name = "go"
transport = "tcp"
command = %q
args = ["dap"]
port-arg = "-l 127.0.0.1:{}"

[[language.debugger.templates]]
name = "binary"
request = "launch"
completion = [{ name = "binary", completion = "filename" }]
args = { mode = "exec", program = "{0}" }
`

// screen is a terminal with Helix in it.
type screen struct {
	w      *work
	socket string
}

func driveHelix(w *work, f *found, adapter string) (shown, error) {
	if err := os.MkdirAll(filepath.Join(w.home(), "helix"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(w.home(), "helix/languages.toml"), fmt.Appendf(nil, helixConfig, w.adapters[adapter]), 0o600); err != nil {
		return nil, err
	}
	conf := filepath.Join(w.folder, "tmux.conf") // what Helix says at its end stays
	if err := os.WriteFile(conf, []byte("set-option -g remain-on-exit on\n"), 0o600); err != nil {
		return nil, err
	}
	s := &screen{w, filepath.Join(w.folder, "tmux-"+adapter)}
	start := append([]string{"-f", conf, "new-session", "-d", "-x", "200", "-y", "60"}, f.with("native.c:9").argv...)
	if _, err := s.tmux(f.env, start...); err != nil {
		return nil, err
	}
	got := make(shown)
	err := s.debug(got)
	if err != nil {
		text, _ := s.tmux(nil, "capture-pane", "-p")
		err = fmt.Errorf("%w; the screen:\n%s", err, text)
	}
	_, ended := s.tmux(nil, "kill-server")
	return got, errors.Join(err, ended)
}

func (s *screen) tmux(env []string, args ...string) (string, error) {
	return s.w.run(command{append([]string{"tmux", "-S", s.socket}, args...), env})
}

// debug is the script.
func (s *screen) debug(got shown) error {
	if err := s.until("the file", func(text string) bool { return strings.Contains(text, "static int whisk") }); err != nil {
		return err
	}
	launch := ":debug-start binary " + filepath.Join(s.w.program, "barista")
	if err := s.keys("Space", "G", "b", "Escape", launch, "Enter"); err != nil {
		return err
	}
	if err := s.until("the stop", func(text string) bool { return strings.Contains(text, "stopped because of breakpoint") }); err != nil {
		return err
	}
	got["breakpoint in C"] = s.position("native.c:9")
	names, err := s.frames()
	if err != nil {
		return err
	}
	got["stack"] = strings.Join(names, " ")
	if err := s.keys("Escape", "Escape"); err != nil {
		return err
	}
	if err := s.stepOut("step out of C", got); err != nil {
		return err
	}
	if err := s.stepOut("again, to Go", got); err != nil {
		return err
	}
	if err := s.keys("Space", "G", "r", "Escape"); err != nil {
		return err
	}
	if err := s.until("the restart", func(text string) bool { return strings.Contains(text, "stopped because of breakpoint") }); err != nil {
		return err
	}
	// After a restart Helix leaves the cursor where it was, until a frame is chosen.
	if _, err := s.frames(); err != nil {
		return err
	}
	if err := s.keys("Enter", "Escape"); err != nil {
		return err
	}
	got["restart"] = s.position("native.c:9")
	if err := s.keys("Space", "G", "t", "Escape"); err != nil {
		return err
	}
	if err := s.until("the end", func(text string) bool { return !strings.Contains(text, "stopped because") }); err != nil {
		return err
	}
	got["terminate"] = "ended"
	return s.keys(":quit-all!", "Enter")
}

// frame is a row of Helix's list of frames.
var frame = regexp.MustCompile(`(?m)^│ [> ] (\S+) `)

// frames opens the list of frames, and returns their names.
func (s *screen) frames() (names []string, err error) {
	if err := s.keys("Space", "G", "s", "f"); err != nil {
		return nil, err
	}
	return names, s.until("the frames", func(text string) bool {
		names = nil
		for _, row := range frame.FindAllStringSubmatch(text, -1) {
			names = append(names, row[1])
		}
		return len(names) > 1
	})
}

// stepOut steps out, and says where Helix stands then.
func (s *screen) stepOut(name string, got shown) error {
	want := ""
	for _, one := range steps {
		if one.name == name {
			want = one.want
		}
	}
	if err := s.keys("Space", "G", "o", "Escape"); err != nil {
		return err
	}
	got[name] = s.position(want)
	return nil
}

// status is Helix's status line: a file and a position.
var status = regexp.MustCompile(`(?m)^ (?:NOR|INS|SEL)\s+(?:\S+/)?(\S+)\s.*\s(\d+):\d+\s*$`)

// position waits for Helix to show a line, and returns the one that it shows then.
func (s *screen) position(want string) (at string) {
	_ = s.until(want, func(text string) bool {
		if m := status.FindStringSubmatch(text); m != nil {
			at = m[1] + ":" + m[2]
		}
		return at == want
	})
	return at
}

// keys types: names of keys, and texts that begin with a colon.
func (s *screen) keys(keys ...string) error {
	for _, key := range keys {
		args := []string{"send-keys", key}
		if strings.HasPrefix(key, ":") {
			args = []string{"send-keys", "-l", key}
		}
		if _, err := s.tmux(nil, args...); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // as a user does: Helix takes keys that come at once for another one
	}
	return nil
}

// until waits for the screen to show something.
func (s *screen) until(what string, check func(text string) bool) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		text, err := s.tmux(nil, "capture-pane", "-p")
		if err != nil {
			return err
		}
		if check(text) {
			return nil
		}
	}
	return fmt.Errorf("waited in vain for %s", what)
}
