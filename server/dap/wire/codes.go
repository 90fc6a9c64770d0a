package wire

// Numbers of errors, as Delve has them (service/dap/error_ids.go), and
// clew's own for a step.
const (
	LaunchFailed         = 3000
	StackTraceFailed     = 2004
	ScopesFailed         = 2005
	VariablesFailed      = 2008
	EvaluateFailed       = 2009
	SetVariableFailed    = 2012
	DataBreakpointFailed = 2017
	ExceptionInfoFailed  = 2011
	StepFailed           = 2101
)
