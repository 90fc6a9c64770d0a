package show

import "testing"

// FuzzParse: no file of formatters makes it panic, and each that it takes says of every name whether it is for it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"type": "^Ring$", "kind": "each", "count": "used", "item": "slots[$i]"}]`))
	f.Add([]byte(`[{"type": "x", "kind": "optional", "has": "a", "value": "b", "symbol": "c", "named": "<(.*)>"}]`))
	f.Add(containers)
	f.Fuzz(func(_ *testing.T, data []byte) {
		all, err := Parse(data)
		for i := range all {
			if err != nil {
				panic("formatters and an error")
			}
			if all[i].Matches("std::vector<int>") && all[i].Symbol != "" {
				_ = all[i].TypeIn("f<int>")
			}
		}
	})
}
