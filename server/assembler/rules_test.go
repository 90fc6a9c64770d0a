package assembler

import (
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestRulesOfChecks: docs/rules.md defines each rule that a check applies, and names the check
// there. Where it names a check, that check applies the rule.
func TestRulesOfChecks(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	code := map[string]string{} // the names of code, by rule
	heading := regexp.MustCompile(`^R[0-9]+`)
	for section := range strings.SplitSeq(string(text), "\n## ") {
		_, after, _ := strings.Cut(section, "**In the code.**")
		names, _, _ := strings.Cut(after, "\n\n")
		if rule := heading.FindString(section); rule != "" {
			code[rule] = names
		}
	}
	links, linked := regexp.MustCompile(`R[0-9]+`), func(rule string) string { return "[" + rule + "](#" + strings.ToLower(rule) + ")" }
	of := map[string][]string{} // the rules, by check
	for _, c := range checks {
		if row := "| `" + c.name + "` | " + links.ReplaceAllStringFunc(c.rule, linked) + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/rules.md, which check refused: no row %q", row)
		}
		name := runtime.FuncForPC(reflect.ValueOf(c.judge).Pointer()).Name()
		of["`"+name[strings.LastIndex(name, ".")+1:]+"`"] = strings.Split(c.rule, ", ")
	}
	for _, c := range ends {
		if rules := of["ends.go"]; !slices.Contains(rules, c.rule) {
			of["ends.go"] = append(rules, c.rule)
		}
	}
	for name, rules := range of {
		for _, rule := range rules {
			if names, defined := code[rule]; !defined || !strings.Contains(names, name) {
				t.Errorf("%s applies %s: docs/rules.md defines it: %v, but does not name %[1]s there", name, rule, defined)
			}
		}
		for rule, names := range code {
			if strings.Contains(names, name) && !slices.Contains(rules, rule) {
				t.Errorf("docs/rules.md names %s under %s, which it does not apply: %v", name, rule, rules)
			}
		}
	}
}
