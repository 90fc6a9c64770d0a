package wire

// Numbers of errors, as Delve has them (service/dap/error_ids.go), and clew's own.
const (
	Malformed    = 8888
	LaunchFailed = 3000
	AttachFailed = 3001

	lost   = 2102 // Delve is gone
	Failed = 2103 // a request of clew's own
)

// Refusal is an error that is told to the client with a number and words of its own.
type Refusal struct {
	ID               int
	Message, Details string
	Quiet            bool // editors do not show it, as they do not show Delve's
}

// Error returns the details.
func (e *Refusal) Error() string { return e.Details }

// failure is how a request's errors are numbered and begin.
type failure struct {
	id      int
	message string
}

// failures are those of Delve's requests, in its words, and of steps, by command.
var failures = map[string]failure{
	"stackTrace":         {2004, "Unable to produce stack trace"},
	"clew/stack":         {2004, "Unable to produce stack trace"},
	"scopes":             {2005, "Unable to list locals"},
	"variables":          {2008, "Unable to lookup variable"},
	"evaluate":           {2009, "Unable to evaluate expression"},
	"setExpression":      {2009, "Unable to evaluate expression"},
	"exceptionInfo":      {2011, "Unable to get exception info"},
	"setVariable":        {2012, "Unable to set variable"},
	"dataBreakpointInfo": {2017, "Could not get data breakpoint info"},
	"next":               {2101, "Unable to step"},
	"stepIn":             {2101, "Unable to step"},
	"stepOut":            {2101, "Unable to step"},
	"stepBack":           {2101, "Unable to step"},
}

// failureOf is the failure of a command.
func failureOf(command string) failure {
	if f, ok := failures[command]; ok {
		return f
	}
	return failure{Failed, unable(command)}
}

func unable(command string) string { return "Unable to process `" + command + "`" }
