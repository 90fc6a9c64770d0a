package delve

import "github.com/go-delve/delve/pkg/version"

// NameBuild has Delve name this as its build wherever it reports one. By itself it
// takes the commit that is stamped into the binary for its own, and that is clew's.
func NameBuild(build string) { version.DelveVersion.Build = build }
