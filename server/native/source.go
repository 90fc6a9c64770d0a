package native

import (
	"os"
	"path/filepath"
	"strings"
)

// FindSource returns where a source file lies that debugging information of an image names. An absolute path is taken at its
// word. Programs that are the same in whichever folder they are built (-ffile-prefix-map) have relative ones, which count from a
// folder that nothing names: the file is looked for in the image's folder, and in the current one, from which a build was
// started. found says whether it is in one of them; else the path comes back as it is.
func FindSource(file, image string) (path string, found bool) {
	if file == "" || IsAbsolute(file) {
		return file, file != ""
	}
	folders := []string{"."}
	if image != "" {
		folders = []string{filepath.Dir(image), "."}
	}
	for _, folder := range folders {
		path, err := filepath.Abs(filepath.Join(folder, file))
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return file, false
}

// IsAbsolute says whether a path is absolute on any system (/a/b, C:\a\b, \\server\a): that of a client may be another one.
func IsAbsolute(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive || strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`)
}

// sourceOf is FindSource that returns a path always.
func sourceOf(file, image string) string {
	path, _ := FindSource(file, image)
	return path
}
