package imagemap

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"unicode/utf8"
)

// ImageMap is the images of a process, sorted by base address. It never changes
// once made, so it may be used by several goroutines at once. The slices and the
// Loaded value inside the images it hands out belong to it: they must not be
// modified.
type ImageMap struct {
	ws       WordSize
	platform string
	images   []Image
	// maxEnd[i] is the highest EndOfText of images[:i+1]: how far back a lookup
	// must go where images overlap.
	maxEnd    []uint64
	byBuildID map[string]int // the image of lowest base
	byPath    map[string]int // likewise
}

// New makes an image map. It copies the images, sorts them by base address
// (images of the same base stay in the order given) and sets their names from
// their paths. Fails with an [*ImageError] for an image that CIF cannot express,
// and with an error that wraps [ErrWordSize], [ErrPlatform] or [ErrImageCount].
func New(ws WordSize, platform string, images []Image) (*ImageMap, error) {
	copied := make([]Image, len(images))
	for i, img := range images {
		copied[i] = img.clone()
	}
	return newMap(ws, platform, copied)
}

func checkMap(ws WordSize, platform string, images int) error {
	switch {
	case !ws.Valid():
		return fmt.Errorf("%w: %d bits", ErrWordSize, ws)
	case len(platform) > maxPlatform:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrPlatform, len(platform), maxPlatform)
	case !utf8.ValidString(platform):
		return fmt.Errorf("%w: %q", ErrPlatform, platform)
	case images > MaxImages:
		return fmt.Errorf("%w: %d, at most %d", ErrImageCount, images, MaxImages)
	}
	return nil
}

// newMap is New for images that no caller holds.
func newMap(ws WordSize, platform string, images []Image) (*ImageMap, error) {
	if err := checkMap(ws, platform, len(images)); err != nil {
		return nil, fmt.Errorf("imagemap: %w", err)
	}
	m := &ImageMap{
		ws: ws, platform: platform, images: images,
		maxEnd:    make([]uint64, len(images)),
		byBuildID: make(map[string]int),
		byPath:    make(map[string]int),
	}
	for i := range images {
		img := &images[i]
		if err := check(ws, img); err != nil {
			return nil, &ImageError{Index: i, Base: img.Base, Path: img.Path, Err: err}
		}
		img.Name = BaseName(img.Path)
		if len(img.BuildID) == 0 {
			img.BuildID = nil
		}
	}
	slices.SortStableFunc(images, func(a, b Image) int { return cmp.Compare(a.Base, b.Base) })
	end := uint64(0)
	for i := range images {
		img := &images[i]
		end = max(end, img.EndOfText)
		m.maxEnd[i] = end
		if _, ok := m.byBuildID[string(img.BuildID)]; !ok && img.BuildID != nil {
			m.byBuildID[string(img.BuildID)] = i
		}
		if _, ok := m.byPath[img.Path]; !ok && img.Path != "" {
			m.byPath[img.Path] = i
		}
	}
	return m, nil
}

func check(ws WordSize, img *Image) error {
	switch {
	case img.Base > ws.Max() || img.EndOfText > ws.Max():
		return fmt.Errorf("%w: [%#x, %#x)", ErrAddressRange, img.Base, img.EndOfText)
	case img.EndOfText <= img.Base:
		return fmt.Errorf("%w: %#x", ErrEndOfText, img.EndOfText)
	case len(img.BuildID) > MaxBuildID:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrBuildID, len(img.BuildID), MaxBuildID)
	case len(img.Path) > MaxPath:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrPathLength, len(img.Path), MaxPath)
	}
	return nil
}

// WordSize is the size of the process's machine words.
func (m *ImageMap) WordSize() WordSize { return m.ws }

// Platform describes the system the process ran on, "Linux (Debian GNU/Linux 12
// (bookworm))"; empty when unknown.
func (m *ImageMap) Platform() string { return m.platform }

// Len is the number of images.
func (m *ImageMap) Len() int { return len(m.images) }

// Images is a copy of the list, sorted by base address.
func (m *ImageMap) Images() []Image { return slices.Clone(m.images) }

// All yields the images with their indices, sorted by base address.
func (m *ImageMap) All() iter.Seq2[int, Image] { return slices.All(m.images) }

// Lookup finds the image that contains the address. Where images overlap it is
// the one with the highest base. It does not allocate.
func (m *ImageMap) Lookup(address uint64) (Image, bool) {
	i := sort.Search(len(m.images), func(i int) bool { return m.images[i].Base > address }) - 1
	for ; i >= 0 && m.maxEnd[i] > address; i-- {
		if m.images[i].Contains(address) {
			return m.images[i], true
		}
	}
	return Image{}, false
}

// ByBuildID finds the image with this build ID, the one of lowest base if it is
// loaded several times.
func (m *ImageMap) ByBuildID(id []byte) (Image, bool) {
	i, ok := m.byBuildID[string(id)]
	return m.at(i, ok)
}

// ByPath finds the image with exactly this path, the one of lowest base if it is
// loaded several times.
func (m *ImageMap) ByPath(path string) (Image, bool) {
	i, ok := m.byPath[path]
	return m.at(i, ok)
}

func (m *ImageMap) at(i int, ok bool) (Image, bool) {
	if !ok {
		return Image{}, false
	}
	return m.images[i], true
}

// Equal reports whether both maps say the same in CIF: Loaded does not count.
func (m *ImageMap) Equal(o *ImageMap) bool {
	return m.ws == o.ws && m.platform == o.platform &&
		slices.EqualFunc(m.images, o.images, func(a, b Image) bool {
			return a.Base == b.Base && a.EndOfText == b.EndOfText && a.Path == b.Path && bytes.Equal(a.BuildID, b.BuildID)
		})
}
