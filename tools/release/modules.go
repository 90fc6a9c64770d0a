package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// module is what a binary has in it of somebody else's: a Go module, or Go itself.
type module struct {
	path, version, sum string
	licences           []licence
}

// licence is a file of a module's that says under what terms it may be used.
type licence struct {
	name string // of the file
	id   string // SPDX, "" if unknown
	text []byte
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// modulesOf returns the modules that a binary was linked with, and Go's standard
// library, with their licences. One without is an error: it cannot be released.
func modulesOf(binary string) ([]module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	root, err := output(".", "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	standard := module{path: "std", version: info.GoVersion}
	if standard.licences, err = licencesIn(root); err != nil {
		return nil, fmt.Errorf("Go: %w", err)
	}
	list := []module{standard}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		m := module{path: dep.Path, version: dep.Version, sum: dep.Sum}
		answer, err := output(".", "go", "mod", "download", "-json", dep.Path+"@"+dep.Version)
		if err != nil {
			return nil, err
		}
		var where struct{ Dir string }
		if err := json.Unmarshal([]byte(answer), &where); err != nil {
			return nil, err
		}
		if m.licences, err = licencesIn(where.Dir); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func licencesIn(dir string) ([]licence, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []licence
	for _, e := range entries {
		if !licenceName.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		l := licence{name: e.Name(), text: text}
		patents := strings.HasPrefix(strings.ToLower(e.Name()), "patents") // a grant, which SPDX has no name for
		if found := licensecheck.Scan(text); !patents && len(found.Match) > 0 && found.Percent > 75 {
			l.id = found.Match[0].ID
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no licence among its files")
	}
	return list, nil
}

// notices is THIRD_PARTY_NOTICES.txt: every module's licence, and where its source is,
// which the Mozilla Public License asks for.
func notices(modules []module) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "clew contains these %d works of others, unchanged, under their licences.\n", len(modules))
	for _, m := range modules {
		source := "https://proxy.golang.org/" + m.path + "/@v/" + m.version + ".zip"
		if m.path == "std" {
			source = "https://go.dev/dl/" + m.version + ".src.tar.gz"
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\nSource: %s\n", strings.Repeat("=", 79), m.path, m.version, source)
		for _, l := range m.licences {
			fmt.Fprintf(&b, "\n--- %s ---\n\n%s\n", l.name, bytes.TrimSpace(l.text))
		}
	}
	return b.Bytes(), nil
}

// billOfMaterials is the list of the modules in CycloneDX's JSON. It has no serial number
// and no time of its own: both would differ in each build.
func (r *release) billOfMaterials(modules []module) ([]byte, error) {
	var components []cdx.Component
	for _, m := range modules {
		c := cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			PackageURL: "pkg:golang/" + m.path + "@" + m.version,
		}
		var licences cdx.Licenses
		for _, l := range m.licences {
			if l.id != "" {
				licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: l.id}})
			}
		}
		if len(licences) > 0 {
			c.Licenses = &licences
		}
		components = append(components, c)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.at.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, Name: "clew", Version: r.version,
			PackageURL: "pkg:golang/github.com/clewdbg/clew@" + r.version,
		},
	}
	bom.Components = &components
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return b.Bytes(), err
}
