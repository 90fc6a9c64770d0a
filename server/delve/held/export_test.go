package held

import "github.com/go-delve/delve/pkg/proc"

// ReadConcurrently calls a function as reads of memory are, while a stack is walked.
func ReadConcurrently(p *Program, with func(*proc.Target) error) bool { return p.concurrent.read(with) }
