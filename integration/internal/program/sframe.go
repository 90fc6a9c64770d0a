package program

import "path/filepath"

// OwnSFrame is the version that the machine's own assembler writes.
const OwnSFrame = "own"

// SFrameVariants are those whose native code has SFrame and no other tables nor
// frame pointers: by the machine's own assembler, and of every version. Without
// toolchains those come as libraries.
func SFrameVariants(tools Tools) (variants []Variant) {
	const flags = "-O2 -g0 -fomit-frame-pointer"
	variants = []Variant{
		{Name: "static-O2-sframe", CFlags: flags, SFrame: OwnSFrame},
		{Name: "linked-O2-sframe-stripped", CFlags: flags, SFrame: OwnSFrame, Linkage: Linked, Stripped: true},
		{Name: "opened-O2-sframe-v1-stripped", CFlags: flags, SFrame: "v1", Linkage: Opened, Stripped: true},
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
