package names

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRust: names as rustc-demangle writes them without hashes; the grammar is that of RFC 2603, with what came later.
func TestRust(t *testing.T) {
	for symbol, want := range map[string]string{
		"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE":                      "std::sys::backtrace::__rust_begin_short_backtrace",
		"_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE.llvm.1234":       "core::ptr::drop_in_place<alloc::string::String>",
		"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE":      "<alloc::string::String as core::fmt::Debug>::fmt",
		"_ZN4work4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE":                              "work::main::{{closure}}",
		"_ZN4work3one3two17h0123456789abcdefE.cold":                                                    "work::one::two",
		"_ZN4work4$XX$17h0123456789abcdefE":                                                            "work::$XX$",
		"_RNvCs8NwYtU1Mohg_4work4main":                                                                 "work::main",
		"_RNCNvC4work4main0":                                                                           "work::main::{closure#0}",
		"_RNCNvC4work4mains_0":                                                                         "work::main::{closure#1}",
		"_RNCNvC4work4main03one":                                                                       "_RNCNvC4work4main03one",
		"_RINvC4work5outeruRNtB2_4Itemp1_E":                                                            "_RINvC4work5outeruRNtB2_4Itemp1_E",
		"_RINvC4work5outeruRNtB2_4ItemAhj8_TuETmbEE":                                                   "work::outer::<(), &work::Item, [u8; 8], ((),), (u32, bool)>",
		"_RINvC4work5outerNCINvB2_5innerNCNvB2_4main0uE0uE":                                            "work::outer::<work::inner<work::main::{closure#0}, ()>::{closure#0}, ()>",
		"_RINvC4work3runNcNtNtB2_4item4Item0E":                                                         "work::run::<work::item::Item>",
		"_RINvC4work3runFUKCRL_hQtEuDNtB2_5TraitNtB2_4MoreEL_E":                                        "work::run::<unsafe extern \"C\" fn(&u8, &mut u16), dyn work::Trait + work::More>",
		"_RINvC4work3runFG_RL0_hEB4_DG0_INtB2_5TraitRL0_lEp3OutReEL_E":                                 "_RINvC4work3runFG_RL0_hEB4_DG0_INtB2_5TraitRL0_lEp3OutReEL_E",
		"_RINvC4work3runFG_RL0_hEuDNtB2_5Traitp3OutRep1NKj0_EL_E":                                      "work::run::<for<'a> fn(&'a u8), dyn work::Trait<Out = &str, N = 0>>",
		"_RINvC4work3runKj7b_Kanb_Kb1_Kc76_Koff00ff00ff00ff00ff_KRe616263_KTj0_EKAh1_h2_EKe27_KRh7b_E": `work::run::<123, -11, true, 'v', 0xff00ff00ff00ff00ff, "abc", {(0,)}, {[1, 2]}, {*"'"}, {&123}>`,
		"_RINvC4work3runKVNtB2_4Item1aj1_E":                                                            "_RINvC4work3runKVNtB2_4Item1aj1_E",
		"_RINvC4work3runKVNtB2_4ItemS1aj1_1bb0_EKVNtB2_4PairTj1_j2_EKVNtB2_4NoneUE":                    "work::run::<{work::Item { a: 1, b: false }}, {work::Pair(1, 2)}, {work::None}>",
		"_RINvC4work3runWmRm1_m9_PhOaE":                                                                "work::run::<u32 is 1..=9, *const u8, *mut i8>",
		"_RNvMsa_C4workNtB5_4Item3one":                                                                 "<work::Item>::one",
		"_RNvXC4workNtB2_4ItemNtC4core5Debug3fmt":                                                      "<work::Item as core::Debug>::fmt",
		"_RNvYNtC4work4ItemNtC4core5Debug3fmt.llvm.123":                                                "<work::Item as core::Debug>::fmt",
		"_RNvC4worku8gdel_5qa":                                                                         "work::gödel",
		"_RNvC4worku1_":                                                                                "_RNvC4worku1_",
		"_RNvC4work4mainC5other":                                                                       "work::main",
		"_R2NvC4work4main":                                                                             "_R2NvC4work4main",
		"_RNvB_4main":                                                                                  "_RNvB_4main",
		"_RNvC4work99main":                                                                             "_RNvC4work99main",
		"_R":                                                                                           "_R",
	} {
		if got := Demangle(symbol); got != want {
			t.Errorf("%s\nis   %s\nwant %s", symbol, got, want)
		}
	}
}

// TestLongSymbols: symbols of a megabyte, and short ones that stand for more, cost little and break nothing.
func TestLongSymbols(t *testing.T) {
	for _, million := range []int{1 << 20, maxSymbol - 64, maxCPP - 64} {
		t.Run(strconv.Itoa(million), func(t *testing.T) { checkLong(t, million) })
	}
}

func checkLong(t *testing.T, million int) {
	t.Helper()
	number := strconv.Itoa(million - 20)
	for name, symbol := range map[string]string{
		"one name":         "_Z" + number + strings.Repeat("a", million-20) + "v",
		"scopes":           "_ZN" + strings.Repeat("1a", million/2) + "Ev",
		"pointers":         "_Z1f" + strings.Repeat("P", million) + "i",
		"templates":        "_Z1f" + strings.Repeat("1aI", million/4) + "i" + strings.Repeat("E", million/4),
		"arguments":        "_Z1f" + strings.Repeat("i", million),
		"substitutions":    "_Z1fPi" + strings.Repeat("PFS_S_E", million/8),
		"not a name":       "_Z" + strings.Repeat("N", million),
		"Rust":             "_ZN" + strings.Repeat("1a", million/2) + "17h0123456789abcdefE",
		"Rust's types":     "_RINvC1a1b" + strings.Repeat("R", million) + "hE",
		"Rust's arguments": "_RINvC1a1b" + strings.Repeat("h", million) + "E",
		"Rust's binders":   "_RINvC1a1bFG" + strings.Repeat("z", 9) + "_EuE",
		"doubling":         "_RINvC1a1b" + doubling(40) + "E",
		"a ring":           "_RB_",
		"another ring":     "_RNvB_1a",
		"punycode":         "_RNvC1au" + number + strings.Repeat("a", million-20),
	} {
		begin := time.Now()
		got := Demangle(symbol)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if got != symbol && len(got) > 2*longest {
			t.Errorf("%s is %d bytes long", name, len(got))
		}
		Short(got)
	}
}

// doubling is a type of Rust's that holds the one before it twice, n times.
func doubling(n int) string {
	out := "T" + "hh" + "E"
	at := len("INvC1a1b")
	for range n {
		next := at + len(out) - len("E") // not exact: a place that is none ends the name
		out += "TB" + string("0123456789abcdefghijklmnopqrstuvwxyz"[at%36]) + "_B" + string("0123456789abcdefghijklmnopqrstuvwxyz"[at%36]) + "_E"
		at = next
	}
	return out
}
