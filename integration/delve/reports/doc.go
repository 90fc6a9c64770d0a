// Package reports shows that Delve still has the faults that docs/delve reports: it runs
// each report's script with the Delve that clew is built with.
package reports
