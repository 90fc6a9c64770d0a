package program

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"os"
	"path"
)

// prebuilt are the native code as libraries that the machine's own compiler may
// not make: with SFrame of several versions (sframe.sh), and in Mach-O (macho.sh).
//
//go:embed testdata/sframe testdata/macho
var prebuilt embed.FS

// UnpackSFrame writes the library with SFrame of a version, for an architecture ("" is amd64).
func UnpackSFrame(to, version, arch string) error {
	if arch != "" {
		version += "-" + arch
	}
	return unpack(to, "testdata/sframe", "libnative-"+version+".so.gz", "native.c", "throw.h", "native.h", "sframe.h")
}

// UnpackMachO writes a Mach-O library.
func UnpackMachO(to, name string) error {
	return unpack(to, "testdata/macho", "libnative-"+name+".dylib.gz", "native.c", "throw.h", "native.h")
}

// unpack writes a prebuilt library, if it is of the sources as they are.
func unpack(to, folder, name string, from ...string) error {
	sum, err := prebuilt.ReadFile(path.Join(folder, "sources.sha256"))
	if err != nil {
		return err
	}
	now := sha256.New()
	for _, name := range from {
		data, err := sources.ReadFile("testdata/native/" + name)
		if err != nil {
			return err
		}
		now.Write(data)
	}
	if got := fmt.Sprintf("%x\n", now.Sum(nil)); got != string(sum) {
		return fmt.Errorf("%s is of other sources: make it again, see the scripts beside (%s)", folder, got)
	}
	packed, err := prebuilt.ReadFile(path.Join(folder, name))
	if err != nil {
		return err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
