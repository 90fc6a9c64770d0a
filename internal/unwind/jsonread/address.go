package jsonread

import (
	"fmt"
	"strconv"
)

// Address is an address (or an offset of one from another) as JSON has it:
// "0x7ffe10", "0x0".
type Address uint64

// String returns the JSON form, without quotes.
func (a Address) String() string { return "0x" + strconv.FormatUint(uint64(a), 16) }

// MarshalText implements [encoding.TextMarshaler].
func (a Address) MarshalText() ([]byte, error) {
	return strconv.AppendUint([]byte("0x"), uint64(a), 16), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]; it reads the output of
// MarshalText and nothing else.
func (a *Address) UnmarshalText(text []byte) error {
	v, err := parseAddress(text)
	if err != nil {
		return err
	}
	*a = v
	return nil
}

// AddressError is a text that is not an address in its only valid form.
type AddressError struct{ Text string }

// Error shows the form of an address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%q is not an address (0x and lower-case digits without leading zeros, at most 64 bits)", e.Text)
}

func parseAddress(text []byte) (Address, error) {
	const most = len("0x") + 16
	bad := len(text) < 3 || len(text) > most || text[0] != '0' || text[1] != 'x' ||
		text[2] == '0' && len(text) > 3
	var v uint64
	for i := 2; i < len(text) && !bad; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			bad = true
		}
	}
	if bad {
		return 0, &AddressError{Text: string(text[:min(len(text), 2*most)])}
	}
	return Address(v), nil
}

// Address reads the current value as an address.
func (r *Reader) Address() (Address, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	a, err := parseAddress(text)
	return a, r.Wrap(err)
}
