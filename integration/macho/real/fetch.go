package real

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// file is a Mach-O file of a package.
type file struct {
	name string
	data []byte
}

// maxFile bounds a file of a package, in bytes.
const maxFile = 64 << 20

// fetch returns a package's Mach-O files. npm gets it, from wherever it is set up
// to.
func fetch(dir, name string) (files []file, err error) {
	base, version, _ := strings.Cut(strings.TrimPrefix(name, "@"), "@")
	archive := filepath.Join(dir, strings.ReplaceAll(base, "/", "-")+"-"+version+".tgz")
	if _, err := os.Stat(archive); errors.Is(err, os.ErrNotExist) {
		cmd := exec.Command("npm", "pack", "--silent", name)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		if _, err := cmd.Output(); err != nil {
			return nil, fmt.Errorf("npm pack %s: %w", name, err)
		}
	}
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		data, err := io.ReadAll(io.LimitReader(t, maxFile))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", archive, h.Name, err)
		}
		if len(data) < 8 {
			continue
		}
		switch binary.LittleEndian.Uint32(data) {
		case macho.Magic64, 0xbebafeca: // universal files are big-endian
			files = append(files, file{path.Base(h.Name), data})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no Mach-O file", name)
	}
	return files, nil
}

// image is one architecture's part of a file.
type image struct {
	data []byte
	arch unwind.Arch
	file *macho.File
}

var arches = map[macho.Cpu]unwind.Arch{macho.CpuAmd64: unwind.AMD64, macho.CpuArm64: unwind.ARM64, macho.Cpu386: unwind.I386}

// slices returns the images of a file.
func slices(f file) (images []image, err error) {
	add := func(data []byte) error {
		m, err := macho.NewFile(bytes.NewReader(data))
		if err == nil {
			images = append(images, image{data, arches[m.Cpu], m})
		}
		return err
	}
	fat, err := macho.NewFatFile(bytes.NewReader(f.data))
	if errors.Is(err, macho.ErrNotFat) {
		return images, add(f.data)
	}
	if err != nil {
		return nil, err
	}
	for i := range fat.Arches {
		a := &fat.Arches[i]
		if uint64(a.Offset)+uint64(a.Size) > uint64(len(f.data)) {
			return nil, fmt.Errorf("slice %d lies outside the file", i)
		}
		if err := add(f.data[a.Offset : a.Offset+a.Size]); err != nil {
			return nil, err
		}
	}
	return images, nil
}
