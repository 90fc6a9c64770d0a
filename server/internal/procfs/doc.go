// Package procfs reads what Linux says of a process in /proc (proc(5)).
package procfs
