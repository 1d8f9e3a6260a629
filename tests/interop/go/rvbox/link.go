package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	rv "fleetgate.example/interop/gen/rvbox"
	"fleetgate.example/interop/lines"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	messageLimit = 1 << 20
	pieceLimit   = 64 << 10
	scriptLimit  = 16 << 20
)

// refused is an AgentError to send, and the code to close with where the session is over.
type refused struct {
	code  rv.ControlErrorCode
	text  string
	close websocket.StatusCode // 0: the session goes on
}

func (r *refused) Error() string { return r.code.String() + ": " + r.text }

func over(code rv.ControlErrorCode, close websocket.StatusCode, text string) error {
	return &refused{code, text, close}
}

// about is an error about one command: its message begins with the command, the session goes on.
func about(run string, code rv.ControlErrorCode, text string) error {
	return &refused{code, run + ": " + text, 0}
}

func violation(text string) error {
	return over(rv.ControlErrorCode_CONTROL_ERROR_CODE_PROTOCOL_VIOLATION, 1002, text)
}

// cut is where a link is to be cut, once: at the payload of that name, before or behind it.
type cut struct {
	dir, payload string
	before       bool
	skip         int
}

// cuts are shared by all links of a peer.
type cuts struct {
	sync.Mutex
	wanted *cut
}

func (c *cuts) set(o op) {
	c.Lock()
	defer c.Unlock()
	c.wanted = &cut{o.Dir, o.Payload, o.Before, o.Skip}
	lines.Say("armed", nil)
}

func (c *cuts) due(dir, payload string, before bool) bool {
	c.Lock()
	defer c.Unlock()
	w := c.wanted
	if w == nil || w.dir != dir || w.payload != payload || w.before != before {
		return false
	}
	if w.skip > 0 {
		w.skip--
		return false
	}
	c.wanted = nil
	lines.Say("cut", lines.Event{"dir": dir, "payload": payload, "before": before})
	return true
}

var errCut = errors.New("the link was cut on purpose")

// link is one WebSocket, with the pair that every envelope of its session carries.
type link struct {
	socket     *websocket.Conn
	cuts       *cuts
	session    string
	generation uint64
	newer      bool // the peer speaks a later minor, too: it may say what is not known here
	writing    sync.Mutex
}

func (l *link) send(message proto.Message) error {
	return l.sendAs(message, l.generation)
}

func (l *link) sendAs(message proto.Message, generation uint64) error {
	envelope := &rv.AgentEnvelope{SessionId: l.session, SessionGeneration: generation}
	name := fill(envelope, message)
	data, err := proto.Marshal(envelope)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.cuts.due("out", name, true) {
		l.socket.CloseNow()
		return errCut
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := l.socket.Write(ctx, websocket.MessageBinary, data); err != nil {
		return err
	}
	if l.cuts.due("out", name, false) {
		l.socket.CloseNow()
		return errCut
	}
	return nil
}

// receive waits for the next envelope, at most as long as said, and checks its fence.
func (l *link) receive(within time.Duration) (proto.Message, *rv.AgentEnvelope, error) {
	ctx := context.Background()
	if within > 0 {
		bounded, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = bounded
	}
	kind, data, err := l.socket.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	if kind != websocket.MessageBinary {
		l.socket.Close(websocket.StatusUnsupportedData, "only binary messages")
		return nil, nil, errors.New("a text message came")
	}
	envelope := &rv.AgentEnvelope{}
	if err := proto.Unmarshal(data, envelope); err != nil {
		return nil, nil, violation("no envelope")
	}
	message, name := payload(envelope)
	if message == nil && l.newer {
		return l.receive(within)
	}
	if message == nil {
		return nil, nil, violation("an envelope without a payload that is known")
	}
	if l.cuts.due("in", name, true) { // as if it had never come
		l.socket.CloseNow()
		return nil, nil, errCut
	}
	_, again := message.(*rv.ClientHello)
	if l.session != "" && !again &&
		(envelope.SessionId != l.session || envelope.SessionGeneration != l.generation) {
		return nil, nil, over(rv.ControlErrorCode_CONTROL_ERROR_CODE_STALE_SESSION, 4001,
			"the envelope is of another session")
	}
	return message, envelope, nil
}

// behind cuts the link once a payload was acted on, where a test wants that.
func (l *link) behind(message proto.Message) error {
	if l.cuts.due("in", nameOf(message), false) {
		l.socket.CloseNow()
		return errCut
	}
	return nil
}

// tell sends what an error has to say to the peer. It reports whether the session goes on.
func (l *link) tell(err error) bool {
	var r *refused
	if !errors.As(err, &r) {
		return false
	}
	said := &rv.AgentError{
		Error:        &rv.ControlError{Code: r.code, Message: r.text},
		CloseSession: r.close != 0,
	}
	if l.send(said) != nil {
		return false
	}
	if r.close != 0 {
		l.socket.Close(r.close, "")
	}
	return r.close == 0
}

// ended is what the peer said it ends the session for, and the code that it closed with.
type ended struct {
	code  rv.ControlErrorCode
	close websocket.StatusCode
}

func (e ended) Error() string { return "the peer ended it: " + e.code.String() }

func heard(e *rv.AgentError) error {
	if !e.CloseSession {
		return nil
	}
	return ended{code: e.GetError().GetCode()}
}

// closeWithin is how long a peer that has ended the session is given to close.
const closeWithin = 30 * time.Second

// lastWord waits for the close behind an error that ends the session.
func (l *link) lastWord(err error) error {
	e, is := err.(ended)
	if !is {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	for {
		if _, _, err := l.socket.Read(ctx); err != nil {
			e.close = websocket.CloseStatus(err)
			return e
		}
	}
}

// sayDown tells how a link ended: the code that came, or 0.
func sayDown(who string, err error) {
	code := int(websocket.CloseStatus(err))
	if e, is := err.(ended); is {
		code = int(e.close)
	}
	lines.Say("link", lines.Event{
		"state": "down", "client": who, "code": max(code, 0), "why": fmt.Sprint(err),
	})
}

func sayError(e *rv.AgentError) {
	code := strings.TrimPrefix(e.GetError().GetCode().String(), "CONTROL_ERROR_CODE_")
	lines.Say("error", lines.Event{
		"code": code, "text": e.GetError().GetMessage(), "close": e.CloseSession,
	})
}

var payloads = (&rv.AgentEnvelope{}).ProtoReflect().Descriptor().Oneofs().ByName("payload")

// fill puts a message into its place in the envelope, and answers the name of that place.
func fill(envelope *rv.AgentEnvelope, message proto.Message) string {
	place := placeOf(message)
	envelope.ProtoReflect().Set(place, protoreflect.ValueOfMessage(message.ProtoReflect()))
	return string(place.Name())
}

func placeOf(message proto.Message) protoreflect.FieldDescriptor {
	fields := payloads.Fields()
	for at := range fields.Len() {
		if fields.Get(at).Message().FullName() == message.ProtoReflect().Descriptor().FullName() {
			return fields.Get(at)
		}
	}
	panic("no payload of an envelope")
}

func nameOf(message proto.Message) string { return string(placeOf(message).Name()) }

func payload(envelope *rv.AgentEnvelope) (proto.Message, string) {
	place := envelope.ProtoReflect().WhichOneof(payloads)
	if place == nil {
		return nil, ""
	}
	return envelope.ProtoReflect().Get(place).Message().Interface(), string(place.Name())
}

func key(hash []byte) string { return hex.EncodeToString(hash) }
