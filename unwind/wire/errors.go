package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ContractError is a breach of the plugin contract by the other side: a message
// that contradicts itself or the call that it answers.
type ContractError struct {
	Method string // "Walk"
	Reason string
}

// Error names the method and the violation.
func (e *ContractError) Error() string {
	return fmt.Sprintf("plugin contract broken in %s: %s", e.Method, e.Reason)
}

// RequestError is a request for a walk that is invalid: the caller's fault;
// nothing was sent.
type RequestError struct{ Reason string }

// Error tells the reason.
func (e *RequestError) Error() string { return "no request for a walk: " + e.Reason }

func broken(method, format string, args ...any) *ContractError {
	return &ContractError{Method: method, Reason: fmt.Sprintf(format, args...)}
}

// StrategyError is an error that the strategy itself returned from a call. The
// plugin's process is well.
type StrategyError struct {
	Method  string
	Message string
}

// Error returns the strategy's message.
func (e *StrategyError) Error() string {
	return fmt.Sprintf("%s: the strategy failed: %s", e.Method, e.Message)
}

// deadlineSkew bounds the wait for a deadline that the other side says has
// passed.
const deadlineSkew = 100 * time.Millisecond

// callError classifies the error of a gRPC call. Failures of the transport (the
// process is gone) stay as they are: a status with code Unavailable or
// Canceled.
func callError(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	if errors.As(err, new(*ContractError)) {
		return err
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unknown:
		return &StrategyError{Method: method, Message: st.Message()}
	case codes.Canceled, codes.DeadlineExceeded:
		// The context's own error tells whose deadline it was. Without a cancellation
		// the connection was closed during the call, which gRPC calls "cancelled"
		// too.
		if st.Code() == codes.DeadlineExceeded {
			// The deadline travels with the call, and the other side's clock may
			// be the first to say that it has passed.
			select {
			case <-ctx.Done():
			case <-time.After(deadlineSkew):
			}
		}
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("%s: %w", method, cause)
		}
		return fmt.Errorf("%s: %w", method, err)
	case codes.Unavailable:
		return fmt.Errorf("%s: %w", method, err)
	}
	return broken(method, "%s: %s", st.Code(), st.Message())
}

// serverError is the other direction: it converts a handler's error.
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
	return strings.ToValidUTF8(s, "\ufffd")
}
