package export

import (
	"encoding/hex"
	"fmt"
	"io"
	"iter"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

// json writes {"crash":{...},"stacks":[...],"images":[...],"producer":"..."} on one line: the images are those that
// frames lie in, which a reader elsewhere needs for names.
func (s *Set) json(w io.Writer) error {
	if s.Groups != nil {
		return s.Groups.json(w, s)
	}
	return writeJSON(w, s, func(yield func(stackjson.Stack, *unwind.Stack) bool) {
		for one := range s.Stacks {
			form := stackjson.FromStack(s.Arch, &one, s.Registers)
			if s.Values != nil {
				for i, of := range s.Values(&one) {
					form.Frames[i].Values = of
				}
			}
			if !yield(form, &one) {
				return
			}
		}
	})
}

// ImageForm is an image as JSON has it.
type ImageForm struct {
	Base      stackjson.Address `json:"base"`
	EndOfText stackjson.Address `json:"endOfText"`
	BuildID   string            `json:"buildID,omitempty"`
	Name      string            `json:"name,omitempty"`
	Path      string            `json:"path,omitempty"`
}

// writeJSON writes forms of stacks, each as it comes.
func writeJSON(w io.Writer, set *Set, stacks iter.Seq2[stackjson.Stack, *unwind.Stack]) error {
	used := make(map[uint64]bool) // by the images' bases
	before := `{"stacks":[`
	if set.Crash != nil {
		text, err := stackjson.Marshal(set.Crash)
		if err != nil {
			return fmt.Errorf("crash as JSON: %w", err)
		}
		before = `{"crash":` + string(text) + `,"stacks":[`
	}
	for form, s := range stacks {
		line, err := stackjson.Marshal(form)
		if err != nil {
			return fmt.Errorf("stacks as JSON: %w", err)
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		before = ","
		use(used, set.Arch, s, set.Images)
	}
	if before != "," {
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
	}
	producer, err := stackjson.Marshal(version.Get().String())
	if err != nil {
		return err
	}
	end := `],"producer":` + string(producer) + "}\n"
	if len(used) > 0 {
		list, err := stackjson.Marshal(imagesOf(used, set.Images))
		if err != nil {
			return fmt.Errorf("images as JSON: %w", err)
		}
		end = `],"images":` + string(list) + end[1:]
	}
	if set.About != nil {
		text, err := stackjson.Marshal(set.About())
		if err != nil {
			return err
		}
		end = end[:len(end)-2] + "," + string(text[1:]) + "\n"
	}
	_, err = io.WriteString(w, end)
	return err
}

// use marks the images that a stack's frames lie in, by their bases.
func use(used map[uint64]bool, arch unwind.Arch, s *unwind.Stack, images *imagemap.ImageMap) {
	for j := range s.Frames {
		if images == nil {
			break
		}
		if img, ok := images.Lookup(uint64(s.Frames[j].PC.Lookup(arch))); ok {
			used[img.Base] = true
		}
	}
}

// UsedImages lists the images that frames of the stacks lie in.
func UsedImages(arch unwind.Arch, stacks []unwind.Stack, images *imagemap.ImageMap) []ImageForm {
	used := make(map[uint64]bool)
	for i := range stacks {
		use(used, arch, &stacks[i], images)
	}
	if len(used) == 0 {
		return nil
	}
	return imagesOf(used, images)
}

// imagesOf lists the images with these bases, in the order of their addresses.
func imagesOf(used map[uint64]bool, images *imagemap.ImageMap) (out []ImageForm) {
	for _, img := range images.All() {
		if used[img.Base] {
			out = append(out, ImageForm{
				stackjson.Address(img.Base), stackjson.Address(img.EndOfText), hex.EncodeToString(img.BuildID), img.Name, img.Path,
			})
		}
	}
	return out
}

// ID is the image's build ID.
func (f *ImageForm) ID() ([]byte, error) { return hex.DecodeString(f.BuildID) }
