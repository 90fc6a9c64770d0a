package dap

// Numbers of errors, as Delve has them (service/dap/error_ids.go), and clew's own for a
// step.
const (
	errLaunch      = 3000
	errStackTrace  = 2004
	errScopes      = 2005
	errVariables   = 2008
	errEvaluate    = 2009
	errSetVariable = 2012
	errDataBreak   = 2017
	errException   = 2011
	errStep        = 2101
)
