package table

const (
	hasLSDA         Encoding = 1 << 30
	personalityMask Encoding = 3 << 28
)

// HasLSDA reports whether the function has a language-specific data area.
func (e Encoding) HasLSDA() bool { return e&hasLSDA != 0 }

// Personality is the number of the personality routine, from 1; 0 for none.
func (e Encoding) Personality() int { return int(e & personalityMask >> 28) }
