package names

import "testing"

// TestSuffix: what follows a symbol's name (a clone's suffix, a version) is left out.
func TestSuffix(t *testing.T) {
	for symbol, want := range map[string]string{
		"_Z3runi.cold":                             "run(int)",
		"_Z3runi.isra.0.cold":                      "run(int)",
		"_ZL8kindsOfA.llvm.7159618323740566677":    "kindsOfA",
		"_ZN4llvmL12NoSchedModelE.llvm.135610603":  "llvm::NoSchedModel",
		"_ZNKSt10filesystem4path4fileEv@GLIBCXX_3": "std::filesystem::path::file() const",
		"_ZN1aEv@@V1":                              "a()",
		"run.cold":                                 "run.cold",
		"_start.part":                              "_start.part",
		"_Z.a":                                     "_Z.a",
		"_Z3runi@plt":                              "_Z3runi@plt",
	} {
		if got := Demangle(symbol); got != want {
			t.Errorf("%s is %s, want %s", symbol, got, want)
		}
	}
}
