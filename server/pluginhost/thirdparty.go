package pluginhost

import (
	"errors"
	"fmt"
	"slices"
)

// CheckThirdParties checks a list of third parties' plugins, the value of the key "plugins".
// Builtin are names that are taken.
func CheckThirdParties(list []Config, builtin []string) error {
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
		if bad, ok := errors.AsType[*ConfigError](t.check()); ok {
			return wrong(bad.Key, "%s", bad.Reason)
		}
	}
	return nil
}
