package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ContractError says that the other side broke the plugin contract: a message
// that contradicts itself or the call that it answers.
type ContractError struct {
	Method string // "Walk"
	Reason string
}

// Error says what was broken, and where.
func (e *ContractError) Error() string {
	return fmt.Sprintf("plugin contract broken in %s: %s", e.Method, e.Reason)
}

func broken(method, format string, args ...any) *ContractError {
	return &ContractError{Method: method, Reason: fmt.Sprintf(format, args...)}
}

// StrategyError is an error that the strategy itself returned from a call. The
// plugin's process is well.
type StrategyError struct {
	Method  string
	Message string
}

// Error gives the strategy's message.
func (e *StrategyError) Error() string {
	return fmt.Sprintf("%s: the strategy failed: %s", e.Method, e.Message)
}

// callError sorts what a gRPC call failed with. Failures of the transport (the
// process is gone) stay what they are: a status with code Unavailable.
func callError(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	var contract *ContractError
	if errors.As(err, &contract) {
		return err
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unknown:
		return &StrategyError{Method: method, Message: st.Message()}
	case codes.Canceled, codes.DeadlineExceeded:
		// The context's own error says whose deadline it was. Where a server says
		// "cancelled" although nobody cancelled, that is the strategy's failure.
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("%s: %w", method, cause)
		}
		if st.Code() == codes.DeadlineExceeded {
			return fmt.Errorf("%s: %w", method, context.DeadlineExceeded)
		}
		return &StrategyError{Method: method, Message: st.Message()}
	case codes.Unavailable, codes.Aborted:
		return fmt.Errorf("%s: %w", method, err)
	}
	return broken(method, "%s: %s", st.Code(), st.Message())
}

// serverError is the other direction: what a handler returns.
func serverError(ctx context.Context, err error) error {
	var contract *ContractError
	switch {
	case errors.As(err, &contract):
		return status.Error(codes.InvalidArgument, contract.Reason)
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unknown, text(err.Error()))
}

// text makes a string fit for a proto3 string field, which is UTF-8: one stray
// byte in a reason must not make a whole answer unsendable.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
