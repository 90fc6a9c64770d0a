package pluginhost

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/wire"
)

// Config names one plugin; a third party's, as configurations have it.
type Config struct {
	// Name is the strategy's name; the plugin must describe itself by it.
	Name string `json:"name"`
	// Path is the absolute path of a third party's executable, which is not searched
	// for. Empty means a built-in plugin.
	Path string `json:"path"`
	// SHA256 is the checksum of that executable, 64 hexadecimal digits. A third
	// party's plugin must have one, and is run only if its contents have it.
	SHA256 string `json:"sha256"`
	// Args are the executable's arguments.
	Args []string `json:"args"`
	// Rank orders strategies: the lowest is asked first. In a configuration it is the
	// place among the strategies, 1 for the first; 0 is the first too, since such
	// plugins cover little and know it well.
	Rank int `json:"rank"`
	// MemoryMiB bounds what the process of a third party's plugin may allocate, in MiB; 0 stands for
	// 2048. A plugin that needs more ends, as one that crashes.
	MemoryMiB int `json:"memoryMiB"`
	// Env is added to the plugin's environment, which is otherwise minimal.
	Env []string `json:"-"`
	// Known is what is known of a built-in strategy before its process runs, nil for nothing.
	Known *Known `json:"-"`
}

// Known lets a process wait until it is needed.
type Known struct {
	unwind.Description
	// Tables are the sections of an image without which the strategy covers nothing of it.
	Tables []string
}

// mayWait reports whether the strategy would cover nothing of new images.
func (k *Known) mayWait(added []unwind.Image) bool {
	return k != nil && !slices.ContainsFunc(added, func(img unwind.Image) bool {
		return slices.ContainsFunc(img.Sections, func(s unwind.Section) bool { return slices.Contains(k.Tables, s.Name) })
	})
}

func (c *Config) builtin() bool { return c.Path == "" }

// ConfigError says which plugin is configured wrongly, and how.
type ConfigError struct {
	Plugin string
	Key    string // "name", "path", "sha256" or "memoryMiB"
	Reason string
}

// Error names the plugin, the key and the fault.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("plugin %q: %s", e.Plugin, e.Reason)
}

func (c *Config) check() error {
	wrong := func(key, format string, args ...any) error {
		return &ConfigError{Plugin: c.Name, Key: key, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case !wire.ValidName(c.Name):
		return wrong("name", "a name is 1 to 64 lower case letters, digits and dashes")
	case c.builtin() && (c.SHA256 != "" || len(c.Args) > 0):
		return wrong("path", "it has a sha256 or args, but no path")
	case c.MemoryMiB < 0 || c.MemoryMiB > maxMemoryMiB:
		return wrong("memoryMiB", "memoryMiB is %d; want 1 to %d, or 0 for %d", c.MemoryMiB, maxMemoryMiB, defaultMemoryMiB)
	case c.builtin():
		return nil
	case !filepath.IsAbs(c.Path):
		return wrong("path", "the path %q is not absolute; plugins are not searched for", c.Path)
	}
	if sum, err := hex.DecodeString(c.SHA256); err != nil || len(sum) != 32 {
		return wrong("sha256", "sha256 %q is not 64 hexadecimal digits", c.SHA256)
	}
	return nil
}

// Default limits.
const (
	defaultMemoryMiB     = 2048
	DefaultWalkTimeout   = 250 * time.Millisecond
	DefaultUpdateTimeout = 10 * time.Second
	DefaultStartTimeout  = 5 * time.Second
)

// maxMemoryMiB is more than any machine has.
const maxMemoryMiB = 1 << 24

// Options configure a host. Zero values mean the defaults.
type Options struct {
	Plugins []Config
	// SessionParent is where the session folder is made, [os.TempDir] by
	// default. A path too long for the sockets in it is replaced by /tmp.
	SessionParent string
	// Logger receives the output of plugins, and events about them.
	Logger *slog.Logger
	// WalkTimeout bounds one round trip of Walk.
	WalkTimeout time.Duration
	// UpdateTimeout bounds Update, Yield and Describe.
	UpdateTimeout time.Duration
	// StartTimeout bounds the time until a started plugin can be talked to.
	StartTimeout time.Duration
	// OnNotice is called with a text for the user, once for each plugin that is
	// switched off. It may be called from any goroutine and must
	// not call the host.
	OnNotice func(string)
}

func (o *Options) setDefaults() {
	o.SessionParent = cmp.Or(o.SessionParent, os.TempDir())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.WalkTimeout = cmp.Or(o.WalkTimeout, DefaultWalkTimeout)
	o.UpdateTimeout = cmp.Or(o.UpdateTimeout, DefaultUpdateTimeout)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	if o.OnNotice == nil {
		o.OnNotice = func(string) {}
	}
}

// State is the state of a plugin.
type State string

// The states.
const (
	StateIdle     State = "idle"     // not started yet, or waiting to be started again
	StateRunning  State = "running"  // has a process
	StateDisabled State = "disabled" // switched off for the session
	StateClosed   State = "closed"   // the host is closed
)

// Health describes a plugin's state, for `clew plugins`.
type Health struct {
	Name      string `json:"name"`
	Rank      int    `json:"rank"`
	Builtin   bool   `json:"builtin"`
	Path      string `json:"path"`
	Version   string `json:"version,omitempty"` // known once it has run
	State     State  `json:"state"`
	PID       int    `json:"pid,omitempty"`
	Restarts  int    `json:"restarts"`
	LastError string `json:"lastError,omitempty"`
}

// selfPath is what to run for a built-in plugin. It is the running program even
// when its file has been replaced since (a new build): host and plugins are of
// one version.
func selfPath() (run, shown string, err error) {
	const self = "/proc/self/exe"
	shown, err = os.Executable()
	if err != nil {
		return "", "", err
	}
	if link, err := os.Readlink(self); err == nil && strings.HasSuffix(link, " (deleted)") {
		return self, shown, nil
	}
	return shown, shown, nil
}
