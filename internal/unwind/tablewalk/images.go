package tablewalk

import (
	"sort"

	"github.com/clewdbg/clew/unwind"
)

// image is the tables of one image.
type image struct {
	id   unwind.ImageID
	arch unwind.Arch
	// bounds are the first and the last address that it has rules for.
	bounds unwind.Range
	tables Tables
}

// state is what Update tells. It is not changed once it is made, but for its
// cache.
type state struct {
	pacMask uint64
	images  []*image // by the start of their bounds
	// reach is, for each image, the highest end of its bounds and those before.
	reach []uint64
	cache cache
}

func newState(pacMask uint64, images []*image) *state {
	s := &state{pacMask: pacMask, images: images, reach: make([]uint64, len(images))}
	sort.SliceStable(images, func(i, j int) bool { return images[i].bounds.Start < images[j].bounds.Start })
	var reach uint64
	for i, im := range images {
		reach = max(reach, im.bounds.End)
		s.reach[i] = reach
	}
	return s
}

// around returns the tables of the images that an address may lie in, until use
// says that it is done. Images do not overlap as a rule; where they seem to,
// because one lies, the one that starts last comes first.
func (s *state) around(arch unwind.Arch, addr uint64, use func(Tables) (done bool)) {
	i := sort.Search(len(s.images), func(i int) bool { return s.images[i].bounds.Start > addr }) - 1
	for ; i >= 0 && s.reach[i] > addr; i-- {
		if im := s.images[i]; im.arch == arch && im.bounds.Contains(addr) && use(im.tables) {
			return
		}
	}
}

// lookup is the address to look up the rule of a code address by (R9). A
// signal's trampoline is returned to without having been called: the byte before
// it may be another function's, or no one's.
func (s *state) lookup(arch unwind.Arch, code unwind.CodeAddr) uint64 {
	at := uint64(code.Lookup(arch))
	if code.Kind() == unwind.KindReturn {
		s.around(arch, code.Raw(), func(t Tables) bool {
			if t.Signal(code.Raw()) {
				at = code.Raw()
			}
			return at == code.Raw()
		})
	}
	return at
}

// find returns the rule at an address, which is not in the cache.
func (s *state) find(arch unwind.Arch, code unwind.CodeAddr) (rule *Rule, err error) {
	at := s.lookup(arch, code)
	s.around(arch, at, func(t Tables) bool {
		rule, err = t.Rule(at, code.Kind())
		return rule != nil || err != nil
	})
	return rule, err
}
