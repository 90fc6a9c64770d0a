package delve

import (
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/pkg/locspec"
)

// SubstitutePath replaces the beginning of a path by the first of the rules
// (from, to) that fits, as Delve does.
func SubstitutePath(path string, rules [][2]string) string {
	if len(rules) == 0 {
		return path
	}
	return locspec.SubstitutePath(path, rules)
}

// EditSubstitutePath returns the rules, from the debugger's paths to the client's, as
// they are after the console command `dlv config substitutePath` with these
// arguments, which Delve has carried out. It takes the client's path first.
func EditSubstitutePath(rules [][2]string, arguments string) [][2]string {
	if strings.TrimSpace(arguments) == "-clear" {
		return nil
	}
	fields := config.SplitQuotedFields(arguments, '"')
	if len(fields) == 2 && fields[0] == "-clear" {
		fields = fields[1:]
	}
	if len(fields) == 0 || len(fields) > 2 {
		return rules
	}
	at := slices.IndexFunc(rules, func(rule [2]string) bool { return rule[1] == fields[0] })
	rules = slices.Clone(rules)
	switch {
	case len(fields) == 1 && at >= 0:
		return slices.Delete(rules, at, at+1)
	case len(fields) == 1:
		return rules
	case at >= 0:
		rules[at][0] = fields[1]
		return rules
	}
	return append(rules, [2]string{fields[1], fields[0]})
}
