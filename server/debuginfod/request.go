package debuginfod

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Kind is what is asked for.
type Kind uint8

// The kinds.
const (
	Debuginfo Kind = iota
	Executable
	Source
)

var kindNames = [...]string{Debuginfo: "debuginfo", Executable: "executable", Source: "source"}

// String is the kind's name in a server's paths.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Request names one file.
type Request struct {
	Kind    Kind
	BuildID []byte
	Path    string // of a Source: absolute, as DWARF has it
}

// String names the request in messages.
func (r Request) String() string {
	s := fmt.Sprintf("%v of build %x", r.Kind, r.BuildID)
	if r.Kind == Source {
		s += ": " + r.Path
	}
	return s
}

// errRequest is wrapped by errors about a request that no server could answer.
var errRequest = errors.New("invalid request")

// maxName is how long a file's name may be, less than the suffix of a temporary one.
const maxName = 255 - 8

// maxBuildID is the longest build ID that elfutils takes, in bytes.
const maxBuildID = 64

// check says what is wrong with a request.
func (r Request) check() error {
	switch {
	case len(r.BuildID) < 2 || len(r.BuildID) > maxBuildID:
		return fmt.Errorf("%w: a build ID of %d bytes", errRequest, len(r.BuildID))
	case int(r.Kind) >= len(kindNames):
		return fmt.Errorf("%w: %v", errRequest, r.Kind)
	case r.Kind == Source && !path.IsAbs(r.Path):
		return fmt.Errorf("%w: the source's path %q is not absolute", errRequest, r.Path)
	case strings.ContainsRune(r.Path, 0) || len(r.name()) > maxName:
		return fmt.Errorf("%w: a path of %d bytes", errRequest, len(r.Path))
	}
	return nil
}

func (r Request) id() string { return hex.EncodeToString(r.BuildID) }

// escaped writes a source's path as part of a file's name (elfutils 0.188).
var escaped = strings.NewReplacer("/", "##", "#", "#_")

// name is the file's name in the cache.
func (r Request) name() string {
	if r.Kind == Source {
		return "source" + escaped.Replace(r.Path)
	}
	return r.Kind.String()
}

// url is the file's address on a server.
func (r Request) url(server string) string {
	out := strings.TrimRight(server, "/") + "/buildid/" + r.id() + "/" + r.Kind.String()
	if r.Kind != Source {
		return out
	}
	parts := strings.Split(r.Path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return out + strings.Join(parts, "/")
}
