package names

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// Style is how names of functions are shown; "" is no choice. It is a value of
// command-line flags.
type Style string

// The styles that a user can choose: names as [Short] makes them, and whole ones.
const (
	StyleShort Style = "short"
	StyleFull  Style = "full"
)

// Styles are the styles, for help and completion.
var Styles = []string{string(StyleShort), string(StyleFull)}

// Set refuses what is no style.
func (s *Style) Set(text string) error {
	if text != "" && !slices.Contains(Styles, text) {
		return fmt.Errorf("unknown style %q; known: %s", text, strings.Join(Styles, ", "))
	}
	*s = Style(text)
	return nil
}

// String returns the style's name.
func (s *Style) String() string { return string(*s) }

// Type is what help calls a style.
func (s *Style) Type() string { return "style" }

// On returns the style that was chosen; otherwise, names are short on a terminal and
// whole elsewhere.
func (s Style) On(terminal bool) Style {
	switch {
	case s != "":
		return s
	case terminal:
		return StyleShort
	}
	return StyleFull
}

// Frame names a frame: its function, else its [Offset], else its group.
func (s Style) Frame(f *unwind.Frame) string {
	switch {
	case f.Function != "":
		return s.Show(f.Function)
	case f.Image != "":
		return Offset(f)
	}
	return f.Group
}

// Offset names a frame's code by its image and the offset in it, "" if in no image.
func Offset(f *unwind.Frame) string {
	if f.Image == "" {
		return ""
	}
	return fmt.Sprintf("%s+%#x", imagemap.BaseName(f.Image), f.Offset)
}

// Show returns a name in this style.
func (s Style) Show(name string) string {
	if s == StyleShort {
		return Short(name)
	}
	return name
}
