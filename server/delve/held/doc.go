// Package held is the program that Delve holds: it runs and stops, has memory and breakpoints, and is left at the end. Delve's target is reached at its
// stop alone ([Program.Stopped]); while it runs nothing waits for it.
package held
