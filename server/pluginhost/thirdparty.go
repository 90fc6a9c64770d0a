package pluginhost

import (
	"errors"
	"fmt"
	"slices"
)

// ThirdParty names a third party's plugin, as configurations have it. It is run
// only if its contents have that checksum.
type ThirdParty struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"` // absolute; not searched for
	SHA256 string   `json:"sha256"`
	Args   []string `json:"args"`
	// Rank is its place among the strategies, 1 for the first; 0 is the first
	// too, since such plugins cover little and know it well.
	Rank int `json:"rank"`
}

// Config is the form for a host.
func (t *ThirdParty) Config() Config {
	return Config{Name: t.Name, Path: t.Path, SHA256: t.SHA256, Args: t.Args}
}

// CheckThirdParties checks a list of plugins, the value of the key "plugins".
// Builtin are names that are taken.
func CheckThirdParties(list []ThirdParty, builtin []string) error {
	taken := make(map[string]bool)
	for i := range list {
		t := &list[i]
		wrong := func(key, format string, a ...any) error {
			return fmt.Errorf("plugins[%d].%s: %s", i, key, fmt.Sprintf(format, a...))
		}
		switch {
		case slices.Contains(builtin, t.Name):
			return wrong("name", "%q is the name of a built-in strategy", t.Name)
		case taken[t.Name]:
			return wrong("name", "there are two plugins %q", t.Name)
		case t.Path == "":
			return wrong("path", "%q has no path", t.Name)
		case t.Rank < 0:
			return wrong("rank", "%d is negative", t.Rank)
		}
		taken[t.Name] = true
		config := t.Config()
		var bad *ConfigError
		if err := config.check(); errors.As(err, &bad) {
			return wrong(bad.Key, "%s", bad.Reason)
		}
	}
	return nil
}
