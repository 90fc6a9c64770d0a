package program

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// prebuilt are the native code as libraries with SFrame of versions that the
// machine's own assembler may not write. sframe.sh has built them.
//
//go:embed testdata/sframe
var prebuilt embed.FS

// OwnSFrame is the version that the machine's own assembler writes.
const OwnSFrame = "own"

// SFrameVariants are those whose native code has SFrame and no other tables nor
// frame pointers. Without toolchains the later versions come as libraries.
func SFrameVariants(tools Tools) (variants []Variant) {
	const flags = "-O2 -g0 -fomit-frame-pointer"
	variants = []Variant{
		{Name: "static-O2-sframe", CFlags: flags, SFrame: OwnSFrame},
		{Name: "linked-O2-sframe-stripped", CFlags: flags, SFrame: OwnSFrame, Linkage: Linked, Stripped: true},
		{Name: "opened-O2-sframe-v2-stripped", CFlags: flags, SFrame: "v2", Linkage: Opened, Stripped: true},
		{Name: "opened-O2-sframe-v3-stripped", CFlags: flags, SFrame: "v3", Linkage: Opened, Stripped: true},
	}
	if tools.SFrame == "" {
		return variants
	}
	for _, version := range []string{"v1", "v2", "v3"} {
		variants = append(variants,
			Variant{Name: "static-O2-sframe-" + version, CFlags: flags, SFrame: version},
			Variant{Name: "static-O0-sframe-" + version, CFlags: "-O0 -g0 -fomit-frame-pointer", SFrame: version},
			Variant{Name: "linked-Os-sframe-stripped-" + version, CFlags: "-Os -g0 -fomit-frame-pointer", SFrame: version, Linkage: Linked, Stripped: true})
	}
	return variants
}

// sframeFlags are the compiler's further options for native code in source.
func (v Variant) sframeFlags(source string, tools Tools) string {
	if v.SFrame == "" || v.isPrebuilt(tools) {
		return ""
	}
	return v.sframeLinker(tools) + " -Wa,--gsframe -include " + filepath.Join(source, "sframe.h")
}

// sframeLinker is the option that makes the compiler use a toolchain.
func (v Variant) sframeLinker(tools Tools) string {
	if v.SFrame == "" || v.SFrame == OwnSFrame || tools.SFrame == "" {
		return ""
	}
	return " -B " + filepath.Join(tools.SFrame, v.SFrame, "amd64") + "/"
}

// isPrebuilt says that the native code is a prebuilt library.
func (v Variant) isPrebuilt(tools Tools) bool {
	return tools.SFrame == "" && v.SFrame != "" && v.SFrame != OwnSFrame
}

// unpack writes a prebuilt library, if it is of the sources as they are.
func (v Variant) unpack(to string) error {
	const folder = "testdata/sframe/"
	sum, err := prebuilt.ReadFile(folder + "sources.sha256")
	if err != nil {
		return err
	}
	now := sha256.New()
	for _, name := range []string{"native.c", "throw.h", "native.h", "sframe.h"} {
		data, err := sources.ReadFile("testdata/native/" + name)
		if err != nil {
			return err
		}
		now.Write(data)
	}
	if got := fmt.Sprintf("%x\n", now.Sum(nil)); got != string(sum) {
		return fmt.Errorf("testdata/sframe is of other sources: run sframe.sh again (%s)", got)
	}
	packed, err := prebuilt.ReadFile(folder + "libnative-" + v.SFrame + ".so.gz")
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
