package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/dapwire"
)

// SetArgument changes an argument of a request.
func SetArgument[T int64 | string](m *dapwire.Message, name string, value T) {
	raw, _ := m.Get("arguments")
	text, err := json.Marshal(value)
	if err != nil {
		return // of these types nothing fails
	}
	if args, err := dapwire.ParseObject(raw); err == nil {
		args.Set(name, text)
		m.Set("arguments", args.Bytes())
	}
}

// ArgumentError names the argument that could not be read.
func ArgumentError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s is no %v", wrong.Field, wrong.Type)
	}
	return err
}
