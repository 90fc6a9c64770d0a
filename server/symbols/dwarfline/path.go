package dwarfline

import (
	"path"
	"strings"
)

// join returns a file's path, which counts from folder unless it is absolute. Paths
// are of the system that compiled the program.
func join(folder, name string) string {
	switch {
	case isAbs(name):
		if strings.HasPrefix(name, "/") {
			return path.Clean(name)
		}
		return name
	case folder == "":
		return path.Clean(name)
	case strings.HasPrefix(folder, "/") || !isAbs(folder):
		return path.Join(folder, name)
	case strings.HasSuffix(folder, `\`) || strings.HasSuffix(folder, "/"):
		return folder + name
	case strings.Contains(folder, `\`):
		return folder + `\` + name
	}
	return folder + "/" + name
}

// isAbs says whether a path is absolute, on Unix or Windows.
func isAbs(name string) bool {
	if len(name) > 2 && name[1] == ':' {
		name = name[2:]
	}
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`)
}
