package envelope

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Architectures, by their names in Swift.
const (
	X86_64 = "x86_64"
	I386   = "i386"
	ARM64  = "arm64"
	ARM    = "arm"
)

// Envelope is a backtrace with its images, both still encoded.
type Envelope struct {
	// Architecture is the name of the processor; X86_64 and the others are
	// known to Swift. Not checked, and never empty.
	Architecture string
	// Backtrace is CBF data.
	Backtrace []byte
	// ImageMap is CIF data; nil when there is none.
	ImageMap []byte
}

var (
	// ErrMissing: a field that must be there is not, or is empty.
	ErrMissing = errors.New("missing")
	// ErrBase64: a field is not base64.
	ErrBase64 = errors.New("not base64")
)

// FieldError says which field of an envelope is wrong, and why.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return fmt.Sprintf("envelope: field %q: %v", e.Field, e.Err) }

// Unwrap is the reason.
func (e *FieldError) Unwrap() error { return e.Err }

// wire is the JSON object.
type wire struct {
	Architecture *string `json:"architecture"`
	Backtrace    *string `json:"backtrace"`
	ImageMap     *string `json:"imageMap,omitempty"`
}

// Unmarshal reads one JSON object. It fails with a [*FieldError], or with the
// error of encoding/json where the text is not JSON, or a field no string. Fields
// that are not known are ignored.
func Unmarshal(text []byte) (Envelope, error) {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return Envelope{}, fmt.Errorf("envelope: %w", err)
	}
	if w.Architecture == nil || *w.Architecture == "" {
		return Envelope{}, &FieldError{"architecture", ErrMissing}
	}
	if w.Backtrace == nil {
		return Envelope{}, &FieldError{"backtrace", ErrMissing}
	}
	e := Envelope{Architecture: *w.Architecture}
	var err error
	if e.Backtrace, err = decode(*w.Backtrace); err != nil {
		return Envelope{}, &FieldError{"backtrace", err}
	}
	if w.ImageMap != nil {
		if e.ImageMap, err = decode(*w.ImageMap); err != nil {
			return Envelope{}, &FieldError{"imageMap", err}
		}
	}
	return e, nil
}

// Marshal writes the envelope as one line of JSON, without a line end. The fields
// stand in the order in which Swift writes them. It fails with a [*FieldError] if
// there is no architecture.
func Marshal(e Envelope) ([]byte, error) {
	if e.Architecture == "" {
		return nil, &FieldError{"architecture", ErrMissing}
	}
	backtrace := base64.RawStdEncoding.EncodeToString(e.Backtrace)
	w := wire{Architecture: &e.Architecture, Backtrace: &backtrace}
	if e.ImageMap != nil {
		images := base64.RawStdEncoding.EncodeToString(e.ImageMap)
		w.ImageMap = &images
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	return text, nil
}

// decode reads base64 with padding or without.
func decode(s string) ([]byte, error) {
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(s, "=") {
		encoding = base64.StdEncoding
	}
	b, err := encoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBase64, err)
	}
	return b, nil
}
