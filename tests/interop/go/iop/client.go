package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"fleetgate.example/interop/gen/iop"
	"fleetgate.example/interop/lines"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// call is one that was begun, whatever its method.
type call struct {
	send    func(op) error
	end     func() error
	receive func() (proto.Message, error)
	cancel  context.CancelFunc
	ops     chan op
	read    chan struct{}
	once    sync.Once
}

// waiting is how many operations may wait behind one that the edge's window holds up.
const waiting = 1024

func (c *call) release() { c.once.Do(func() { close(c.read) }) }

type client struct {
	nodes   iop.NodeLinkClient
	control iop.EdgeControlClient
	calls   map[string]*call
}

func runClient(o options) {
	secure := insecure.NewCredentials()
	if config := o.secured(); config != nil {
		secure = credentials.NewTLS(config)
	}
	dialing := []grpc.DialOption{
		grpc.WithTransportCredentials(secure),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.limit)),
	}
	if o.pingEvery > 0 {
		pings := keepalive.ClientParameters{Time: seconds(o.pingEvery), Timeout: seconds(o.pingTimeout)}
		dialing = append(dialing, grpc.WithKeepaliveParams(pings))
	}
	connection, err := grpc.NewClient(o.at, dialing...)
	if err != nil {
		fail(err)
	}
	defer connection.Close()
	c := &client{
		iop.NewNodeLinkClient(connection), iop.NewEdgeControlClient(connection), map[string]*call{},
	}
	lines.Say("ready", nil)
	lines.Each(c.do)
}

func (c *client) do(o op) error {
	if o.Op == "call" {
		return c.begin(o)
	}
	made := c.calls[o.Call]
	if made == nil {
		return fmt.Errorf("no call %q", o.Call)
	}
	switch o.Op {
	case "send", "end":
		made.ops <- o
	case "cancel":
		made.cancel()
	case "read":
		made.release()
	default:
		return fmt.Errorf("no operation %q", o.Op)
	}
	return nil
}

// speak sends what a call is told to, one after the other: a stream has one sender.
func speak(made *call) {
	for o := range made.ops {
		if o.Op == "end" {
			made.end()
		} else if sendAll(made, o) {
			lines.Say("sent", lines.Event{"call": o.Call})
		}
	}
}

// sendAll sends it as often as it says; true once the library has taken all of it.
func sendAll(made *call, o op) bool {
	for range max(1, o.Repeat) {
		if made.send(o) != nil {
			return false // how the call ended is told by whoever receives
		}
	}
	return true
}

func (c *client) begin(o op) error {
	ctx, cancel := context.WithCancel(context.Background())
	if o.TimeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.TimeoutMs)*time.Millisecond)
	}
	ctx = metadata.NewOutgoingContext(ctx, metadata.New(o.Metadata))
	made := &call{cancel: cancel, ops: make(chan op, waiting), read: make(chan struct{})}
	if err := c.open(ctx, o, made); err != nil {
		cancel()
		if told, is := status.FromError(err); is {
			sayEnd(o.Call, told)
			return nil
		}
		return err
	}
	c.calls[o.Call] = made
	if !o.Hold {
		made.release()
	}
	go speak(made)
	go func() {
		<-made.read
		tell(o.Call, made)
	}()
	return nil
}

// tell says what comes, to its end.
func tell(name string, made *call) {
	for {
		message, err := made.receive()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			sayEnd(name, status.Convert(err))
			return
		}
		sayMessage(name, message)
	}
}

func sayEnd(name string, told *status.Status) {
	code := told.Code().String()
	lines.Say("end", lines.Event{"call": name, "code": code, "text": told.Message()})
}

func (c *client) open(ctx context.Context, o op, made *call) error {
	none := func() error { return nil }
	made.end = none
	made.send = func(op) error { return fmt.Errorf("%s takes one request", o.Method) }
	switch o.Method {
	case "Connect":
		stream, err := c.nodes.Connect(ctx)
		if err != nil {
			return err
		}
		made.end = stream.CloseSend
		made.receive = func() (proto.Message, error) { return stream.Recv() }
		made.send = func(o op) error {
			message, err := read[iop.NodeMessage](o.Message)
			if err != nil {
				return err
			}
			return stream.Send(message)
		}
		return nil
	case "Run":
		return streamed(ctx, o, made, c.control.Run)
	case "Attach":
		return streamed(ctx, o, made, c.control.Attach)
	case "WatchNodes":
		return streamed(ctx, o, made, c.control.WatchNodes)
	case "Cancel":
		return asked(ctx, o, made, c.control.Cancel)
	case "Command":
		return asked(ctx, o, made, c.control.Command)
	}
	return fmt.Errorf("no method %q", o.Method)
}

// pointer is a message of protobuf whose struct is T.
type pointer[T any] interface {
	*T
	proto.Message
}

func streamed[Q any, A any, PQ pointer[Q], PA pointer[A]](
	ctx context.Context, o op, made *call,
	method func(context.Context, PQ, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error),
) error {
	request, err := read[Q, PQ](o.Message)
	if err != nil {
		return err
	}
	stream, err := method(ctx, request)
	if err != nil {
		return err
	}
	made.receive = func() (proto.Message, error) {
		answer, err := stream.Recv()
		return PA(answer), err
	}
	return nil
}

func asked[Q any, A any, PQ pointer[Q], PA pointer[A]](
	ctx context.Context, o op, made *call,
	method func(context.Context, PQ, ...grpc.CallOption) (PA, error),
) error {
	request, err := read[Q, PQ](o.Message)
	if err != nil {
		return err
	}
	done := false
	made.receive = func() (proto.Message, error) {
		if done {
			return nil, io.EOF
		}
		done = true
		return method(ctx, request)
	}
	return nil
}
