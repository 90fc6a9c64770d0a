//go:build !linux

package pluginhost

// limit does nothing: a process cannot bound another one here.
func limit(int, uint64) error { return nil }

// endGroup does nothing: what a plugin has started ends by itself here.
func endGroup(int) {}

// endStrays does nothing: processes that have left a plugin's group cannot be found here.
func endStrays(string) {}
