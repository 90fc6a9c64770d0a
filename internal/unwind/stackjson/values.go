package stackjson

// ValueKind is what a value is of its frame.
type ValueKind string

// The kinds of values.
const (
	KindArgument ValueKind = "argument"
	KindLocal    ValueKind = "local"
	KindStatic   ValueKind = "static"
	KindRegister ValueKind = "register"
)

// Value is a variable of a frame, a part of one, or a register: with a text, or with the reason for which there is none.
type Value struct {
	Name         string    `json:"name"`
	Type         string    `json:"type"`
	Value        string    `json:"value,omitempty"`
	Kind         ValueKind `json:"kind"`
	Unknown      string    `json:"unknown,omitempty"` // why
	OptimizedOut bool      `json:"optimizedOut,omitempty"`
	Shadowed     bool      `json:"shadowed,omitempty"` // by a variable of an inner block
	Children     []Value   `json:"children,omitempty"`
	More         int       `json:"more,omitzero"` // children that are left out
	RestsOn      []Rest    `json:"restsOn,omitempty"`
}

// Rest is a place that a value rests on: memory, or a register as the frame had it.
type Rest struct {
	Register string   `json:"register,omitempty"`
	Memory   *Address `json:"memory,omitempty"`
	// From is the index of the frame whose function has saved the register; it is absent where no function between had
	// to: the register is as the processor has it.
	From *int `json:"from,omitempty"`
	// Saved is where that function has saved it.
	Saved *Address `json:"saved,omitempty"`
}
