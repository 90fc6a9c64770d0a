package plugin

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/wire"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of the handshake: that of the messages'
// package, clew.unwind.v1.
const ProtocolVersion = 1

// Name is the service's name in go-plugin's set of plugins.
const Name = "unwinder"

// Handshake is checked by host and plugin before the first call. The cookie is
// no secret: with it the plugin can tell a user who starts it by hand that it
// is a plugin.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "CLEW_PLUGIN",
	MagicCookieValue: "unwinder",
}

// flowWindow is how much may be on its way before the other side must say that
// it has read it. gRPC starts with 64 KiB and learns; a batch of stack windows
// is larger from the first call on.
const flowWindow = 4 << 20

// bufferSize is the size of a read or write, in bytes.
const bufferSize = 128 << 10

// Serve serves an unwinder to the host that started this process. It returns
// when the host has ended the connection, and is the last thing that main does.
func Serve(u unwind.Unwinder) {
	signal.Ignore(os.Interrupt)
	// When the host dies, a write to standard error must not kill the plugin
	// before it has cleaned up.
	signal.Ignore(syscall.SIGPIPE)
	watchLifeline()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: Handshake,
		Plugins:         goplugin.PluginSet{Name: &grpcPlugin{unwinder: u}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts,
				grpc.InitialWindowSize(flowWindow),
				grpc.InitialConnWindowSize(flowWindow),
				grpc.ReadBufferSize(bufferSize),
				grpc.WriteBufferSize(bufferSize))...)
		},
	})
}

// Set is the host's side: go-plugin dispenses from it, by [Name], a
// [*wire.Client].
func Set() goplugin.PluginSet {
	return goplugin.PluginSet{Name: &grpcPlugin{}}
}

// DialOptions are the host's side of the options that [Serve] gives its server.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(flowWindow),
		grpc.WithInitialConnWindowSize(flowWindow),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		// The host decides which calls to repeat after it has restarted the plugin.
		grpc.WithDisableRetry(),
	}
}

// grpcPlugin is both sides of a plugin in go-plugin's terms. NetRPC is not
// implemented: go-plugin's default protocol is not allowed here.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	unwinder unwind.Unwinder
}

var _ goplugin.GRPCPlugin = (*grpcPlugin)(nil)

// GRPCServer implements [goplugin.GRPCPlugin].
func (p *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	wire.Register(s, p.unwinder)
	return nil
}

// GRPCClient implements [goplugin.GRPCPlugin].
func (p *grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return wire.NewClient(conn), nil
}
