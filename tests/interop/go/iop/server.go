package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"fleetgate.example/interop/gen/iop"
	"fleetgate.example/interop/lines"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// served is a call that came. What the tests want of it comes in as ops, in order.
type served struct {
	ops  chan op
	read chan struct{}
	once sync.Once
}

type server struct {
	iop.UnimplementedNodeLinkServer
	grpc  *grpc.Server
	hold  bool
	mutex sync.Mutex
	calls map[string]*served
}

func runServer(o options) {
	serving := []grpc.ServerOption{grpc.MaxRecvMsgSize(o.limit)}
	if config := o.secured(); config != nil {
		serving = append(serving, grpc.Creds(credentials.NewTLS(config)))
	}
	if o.pingEvery > 0 {
		pings := keepalive.ServerParameters{Time: seconds(o.pingEvery), Timeout: seconds(o.pingTimeout)}
		serving = append(serving, grpc.KeepaliveParams(pings))
	}
	if o.pingsAllowedEvery > 0 {
		policy := keepalive.EnforcementPolicy{MinTime: seconds(o.pingsAllowedEvery)}
		serving = append(serving, grpc.KeepaliveEnforcementPolicy(policy))
	}
	listener, err := net.Listen("tcp", o.at)
	if err != nil {
		fail(err)
	}
	s := &server{grpc: grpc.NewServer(serving...), calls: map[string]*served{}}
	iop.RegisterNodeLinkServer(s.grpc, s)
	go s.grpc.Serve(listener)
	lines.Say("ready", lines.Event{"address": listener.Addr().String()})
	lines.Each(s.do)
	s.grpc.Stop()
}

func (s *server) do(o op) error {
	switch o.Op {
	case "stop": // GOAWAY, and the calls live on
		go s.grpc.GracefulStop()
		return nil
	case "hold": // calls that come from now on are not read until an op "read"
		s.mutex.Lock()
		s.hold = true
		s.mutex.Unlock()
		return nil
	}
	s.mutex.Lock()
	call := s.calls[o.Call]
	s.mutex.Unlock()
	if call == nil {
		return fmt.Errorf("no call %q", o.Call)
	}
	if o.Op == "read" {
		call.once.Do(func() { close(call.read) })
		return nil
	}
	call.ops <- o
	return nil
}

// enter notes a call and tells of it, with the metadata that came.
func (s *server) enter(ctx context.Context, method string) (string, *served) {
	call := &served{ops: make(chan op, 1024), read: make(chan struct{})}
	s.mutex.Lock()
	name := "s" + strconv.Itoa(len(s.calls)+1)
	s.calls[name] = call
	held := s.hold
	s.mutex.Unlock()
	if !held {
		call.once.Do(func() { close(call.read) })
	}
	given, _ := metadata.FromIncomingContext(ctx)
	lines.Say("call", lines.Event{"call": name, "method": method, "metadata": given})
	return name, call
}

// play does what it is told until it is told an end, or the client has gone.
func (call *served) play(ctx context.Context, name string, send func(op) error) error {
	for {
		select {
		case <-ctx.Done():
			code := status.FromContextError(ctx.Err()).Code()
			lines.Say("end", lines.Event{"call": name, "code": code.String(), "text": ""})
			return ctx.Err()
		case o := <-call.ops:
			if o.Op == "finish" {
				return ended(o)
			}
			for range max(1, o.Repeat) {
				if err := send(o); err != nil {
					return err
				}
			}
			lines.Say("sent", lines.Event{"call": name})
		}
	}
}

func ended(o op) error {
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if code.String() == o.Code {
			return status.Error(code, o.Text)
		}
	}
	return status.Error(codes.Internal, "no status "+o.Code)
}

func (s *server) Connect(stream grpc.BidiStreamingServer[iop.NodeMessage, iop.EdgeMessage]) error {
	name, call := s.enter(stream.Context(), "Connect")
	go func() {
		<-call.read
		for {
			message, err := stream.Recv()
			if err != nil {
				if err == io.EOF {
					lines.Say("half_close", lines.Event{"call": name})
				} else {
					code, text := status.Code(err), status.Convert(err).Message()
					lines.Say("broken", lines.Event{
						"call": name, "code": code.String(), "text": text,
					})
				}
				return
			}
			sayMessage(name, message)
		}
	}()
	return call.play(stream.Context(), name, func(o op) error {
		message, err := read[iop.EdgeMessage](o.Message)
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		return stream.Send(message)
	})
}
