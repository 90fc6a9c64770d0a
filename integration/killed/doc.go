// Package killed kills debug sessions with SIGKILL, at random moments, and looks at what they leave behind: a program
// that was attached to must go on with its own code, and one that was launched must end.
package killed
