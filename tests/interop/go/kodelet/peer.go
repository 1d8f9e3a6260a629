package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	subprotocol  = "kodelet.runner.v1.jsonrpc"
	path         = "/api/runner/v1/connect"
	messageLimit = 4_194_304

	invalidRequest = -32600
	noMethod       = -32601
	invalidParams  = -32602
	internal       = -32603
	unavailable    = -32000
	conflict       = -32001
	stale          = -32002
	busy           = -32003
)

// rpcError is the error of an answer.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

func (e *rpcError) reason() string {
	var data struct {
		Reason string `json:"reason"`
	}
	json.Unmarshal(e.Data, &data)
	return strings.TrimSpace(data.Reason)
}

func failed(code int, message string) *rpcError { return &rpcError{Code: code, Message: message} }

func because(code int, message, reason string) *rpcError {
	data, _ := json.Marshal(map[string]string{"reason": reason})
	return &rpcError{code, message, data}
}

// envelope is one message, in the order in which its members are written.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// What a message is.
const (
	isRequest      = "request"
	isNotification = "notification"
	isResponse     = "response"
)

// read takes a message apart, as strictly as encoding/json and the table of section 4.3 do.
func read(data []byte) (e *envelope, id, kind string, err error) {
	e = &envelope{}
	if err := json.Unmarshal(data, e); err != nil {
		return nil, "", "", err
	}
	if e.JSONRPC != "2.0" {
		return nil, "", "", errors.New("jsonrpc is not 2.0")
	}
	there := len(e.ID) > 0 && !bytes.Equal(e.ID, []byte("null"))
	if there {
		if e.ID[0] != '"' || json.Unmarshal(e.ID, &id) != nil || strings.TrimSpace(id) == "" {
			return nil, "", "", errors.New("an id is a text, and not blank")
		}
	}
	switch {
	case strings.TrimSpace(e.Method) != "" && (e.Result != nil || e.Error != nil):
		return nil, "", "", errors.New("a request with a result or an error")
	case strings.TrimSpace(e.Method) != "" && there:
		return e, id, isRequest, nil
	case strings.TrimSpace(e.Method) != "":
		return e, id, isNotification, nil
	case !there || (e.Result != nil) == (e.Error != nil):
		return nil, "", "", errors.New("no answer to anything")
	case e.Method != "":
		return e, id, isRequest, nil
	}
	return e, id, isResponse, nil
}

type handler func(ctx context.Context, id, method string, params json.RawMessage) (any, *rpcError)

// peer is either end of a link: section 5.
type peer struct {
	socket   *websocket.Conn
	prefix   string
	requests handler
	notes    func(method string, params json.RawMessage)
	ctx      context.Context
	end      context.CancelFunc
	control  chan []byte
	updates  chan []byte

	sync.Mutex
	next    int
	pending map[string]chan *envelope
	inbound map[string]context.CancelFunc

	slots, urgent, noted chan struct{}
}

func newPeer(socket *websocket.Conn, prefix string) *peer {
	ctx, end := context.WithCancel(context.Background())
	socket.SetReadLimit(messageLimit)
	return &peer{
		socket: socket, prefix: prefix, ctx: ctx, end: end,
		control: make(chan []byte, 128), updates: make(chan []byte, 64),
		pending: map[string]chan *envelope{}, inbound: map[string]context.CancelFunc{},
		slots: make(chan struct{}, 64), urgent: make(chan struct{}, 8),
		noted: make(chan struct{}, 64),
	}
}

// serve reads until the link ends, which is bare but for what the library itself says.
func (p *peer) serve() error {
	go p.write()
	go p.ping()
	defer p.socket.CloseNow()
	defer p.end()
	for {
		kind, data, err := p.socket.Read(p.ctx)
		if err == nil && kind != websocket.MessageText {
			err = errors.New("a binary message came")
		}
		if err == nil {
			err = p.take(data)
		}
		if err != nil {
			return err
		}
	}
}

func (p *peer) write() {
	defer p.socket.CloseNow()
	defer p.end()
	for {
		var data []byte
		select {
		case data = <-p.control:
		default:
			select {
			case data = <-p.control:
			case data = <-p.updates:
			case <-p.ctx.Done():
				return
			}
		}
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		err := p.socket.Write(ctx, websocket.MessageText, data)
		cancel()
		if err != nil {
			return
		}
	}
}

func (p *peer) ping() {
	for {
		select {
		case <-time.After(30 * time.Second):
		case <-p.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(p.ctx, 15*time.Second)
		err := p.socket.Ping(ctx)
		cancel()
		if err != nil {
			p.drop()
			return
		}
	}
}

// drop ends the link without a close frame.
func (p *peer) drop() {
	p.end()
	p.socket.CloseNow()
}

func (p *peer) take(data []byte) error {
	e, id, kind, err := read(data)
	if err != nil {
		return err
	}
	switch {
	case kind == isResponse:
		p.Lock()
		answered := p.pending[id]
		delete(p.pending, id)
		p.Unlock()
		if answered != nil {
			answered <- e
		}
	case e.Method == "operation.cancel" && kind == isNotification:
		var params struct {
			RequestID string `json:"requestId"`
		}
		if json.Unmarshal(e.Params, &params) == nil {
			p.Lock()
			if cancel := p.inbound[strings.TrimSpace(params.RequestID)]; cancel != nil {
				cancel()
			}
			p.Unlock()
		}
	case kind == isNotification:
		select {
		case p.noted <- struct{}{}:
		default:
			return errors.New("too many notifications at a time")
		}
		go func() {
			defer func() { <-p.noted }()
			p.notes(e.Method, e.Params)
		}()
	default:
		p.begin(e, id)
	}
	return nil
}

func (p *peer) begin(e *envelope, id string) {
	p.Lock()
	defer p.Unlock()
	if p.inbound[id] != nil {
		go p.answer(e.ID, nil, failed(invalidRequest, "duplicate rpc request id"))
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	p.inbound[id] = cancel
	pool := p.slots
	if e.Method == "run.cancel" || e.Method == "run.close" {
		pool = p.urgent
	}
	go func() {
		defer func() {
			cancel()
			p.Lock()
			delete(p.inbound, id)
			p.Unlock()
		}()
		select {
		case pool <- struct{}{}:
			defer func() { <-pool }()
		case <-ctx.Done():
			p.answer(e.ID, nil, failed(unavailable, "context canceled"))
			return
		}
		result, fault := p.requests(ctx, id, e.Method, e.Params)
		p.answer(e.ID, result, fault)
	}()
}

func (p *peer) answer(id json.RawMessage, result any, fault *rpcError) {
	e := &envelope{JSONRPC: "2.0", ID: id, Error: fault}
	if fault == nil {
		text, err := json.Marshal(result)
		e.Result = text
		if err != nil {
			e.Result, e.Error = nil, failed(internal, err.Error())
		}
	}
	data, _ := json.Marshal(e)
	if len(data) > messageLimit {
		data, _ = json.Marshal(&envelope{JSONRPC: "2.0", ID: id, Error: because(unavailable,
			"runner rpc result exceeds the connection message-size limit; "+
				"return a smaller result or use an artifact channel", "result_too_large")})
	}
	p.queue(data)
}

func (p *peer) queue(data []byte) {
	select {
	case p.control <- data:
	case <-p.ctx.Done():
	case <-time.After(10 * time.Second):
	}
}

func (p *peer) tell(method string, params any) {
	p.queue(made(nil, method, params))
}

// update is told on the other lane: where that is full, the oldest one gives way.
func (p *peer) update(params any) {
	data := made(nil, "tool.update", params)
	for {
		select {
		case p.updates <- data:
			return
		default:
			select {
			case <-p.updates:
			default:
			}
		}
	}
}

func made(id json.RawMessage, method string, params any) []byte {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	data, err := json.Marshal(&envelope{JSONRPC: "2.0", ID: id, Method: method, Params: text})
	if err != nil {
		panic(err)
	}
	return data
}

// call asks, and waits; begun is told the id. A caller that gives up says so.
func (p *peer) call(
	ctx context.Context, method string, params any, begun func(id string),
) (json.RawMessage, error) {
	p.Lock()
	p.next++
	id := fmt.Sprintf("%s:%d", p.prefix, p.next)
	answered := make(chan *envelope, 1)
	p.pending[id] = answered
	p.Unlock()
	if begun != nil {
		begun(id)
	}
	text, _ := json.Marshal(id)
	p.queue(made(text, method, params))
	select {
	case e := <-answered:
		if e.Error != nil {
			return nil, e.Error
		}
		return e.Result, nil
	case <-ctx.Done():
		p.Lock()
		delete(p.pending, id)
		p.Unlock()
		p.tell("operation.cancel", map[string]string{"requestId": id})
		return nil, ctx.Err()
	case <-p.ctx.Done():
		return nil, errors.New("the link has ended")
	}
}
