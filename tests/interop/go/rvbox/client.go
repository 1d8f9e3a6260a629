package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	rv "fleetgate.example/interop/gen/rvbox"
	"fleetgate.example/interop/lines"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// tombstone is what stays of a command whose exit was acknowledged.
type tombstone struct {
	hash []byte
	last uint64
}

// client is a host daemon: what it was given, and the link it has now. One lock guards all of it.
type client struct {
	sync.Mutex
	options  options
	cuts     cuts
	commands map[string]*command
	order    []*command
	tombs    map[string]tombstone
	link     *link
	held     bool // between a reconcile request and its result nothing but the snapshot is sent
	targets  map[string]uint64
	told     [2]uint32
}

func newClient(o options) *client {
	return &client{
		options: o, commands: map[string]*command{}, tombs: map[string]tombstone{}, held: true,
	}
}

func (c *client) do(o op) error {
	switch o.Op {
	case "cut":
		c.cuts.set(o)
		return nil
	case "drop", "stale", "hello", "skip":
		c.Lock()
		link := c.link
		c.Unlock()
		if link == nil {
			return fmt.Errorf("there is no link")
		}
		return c.misbehave(link, o)
	case "counts":
		c.Lock()
		defer c.Unlock()
		lines.Say("counts", lines.Event{"retained": len(c.commands), "tombstones": len(c.tombs)})
		return nil
	}
	return fmt.Errorf("no operation %q", o.Op)
}

// misbehave does what a client must not, to see what the server says.
func (c *client) misbehave(link *link, o op) error {
	switch o.Op {
	case "stale": // an envelope of the session before
		return link.sendAs(&rv.ClientCapacity{MaxRunningCommands: 1}, link.generation-1)
	case "hello": // a second one
		return link.send(c.hello())
	case "skip": // an event that leaves one out
		c.Lock()
		defer c.Unlock()
		command := c.commands[o.Run]
		if command == nil {
			return fmt.Errorf("no command %q", o.Run)
		}
		return link.send(&rv.CommandEvent{
			IssueUuid: o.Run, CommandRevision: command.revision, EventSeq: command.last + 2,
			EventTime: timestamppb.Now(),
			Event: &rv.CommandEvent_Output{Output: &rv.OutputChunk{
				Stream: rv.OutputStream_OUTPUT_STREAM_STDOUT, Data: []byte("out of order"),
			}},
		})
	}
	return link.socket.CloseNow()
}

// keepDialling has one link after the other. Real daemons wait longer between them.
func (c *client) keepDialling() {
	for {
		final, err := c.session()
		sayDown(c.options.id, err)
		if final {
			lines.Say("final", lines.Event{"why": fmt.Sprint(err)})
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *client) hello() *rv.ClientHello {
	one := &rv.ProtocolVersion{Major: 1}
	return &rv.ClientHello{
		ClientId:          c.options.id,
		SupportedProtocol: &rv.ProtocolRange{Minimum: one, Maximum: one},
		DaemonVersion:     "interop", Platform: rv.Platform_PLATFORM_LINUX,
		Architecture: runtime.GOARCH, DaemonCwd: "/",
		SupportedShells: []rv.ShellType{
			rv.ShellType_SHELL_TYPE_NONE, rv.ShellType_SHELL_TYPE_SH, rv.ShellType_SHELL_TYPE_BASH,
		},
		ClientInstanceId:   c.options.instance,
		MaxRunningCommands: uint32(c.options.running), MaxQueuedCommands: uint32(c.options.queued),
		SentAt: timestamppb.Now(),
	}
}

// session is one link, from the dial to its end; it answers whether that is final.
func (c *client) session() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	header := http.Header{}
	if c.options.token != "" {
		header.Set("Authorization", "Bearer "+c.options.token)
	}
	dialler, err := c.options.files.Client()
	if err != nil {
		return true, err
	}
	defer dialler.CloseIdleConnections()
	socket, answer, err := websocket.Dial(ctx, c.options.at, &websocket.DialOptions{
		HTTPClient: dialler, HTTPHeader: header, Subprotocols: []string{"rvbox.v1"},
	})
	if err != nil {
		return answer != nil && answer.StatusCode == http.StatusUnauthorized, err
	}
	defer socket.CloseNow()
	socket.SetReadLimit(messageLimit)
	link := &link{socket: socket, cuts: &c.cuts}
	if err := link.send(c.hello()); err != nil {
		return false, err
	}
	if err := c.welcomed(link); err != nil {
		return isFinal(err) || isBadHello(err), err
	}
	lines.Say("link", lines.Event{
		"state": "up", "client": c.options.id, "generation": link.generation,
		"subprotocol": socket.Subprotocol(),
	})
	err = c.listen(link)
	c.Lock()
	c.link, c.held = nil, true
	for _, each := range c.order {
		each.script.reset()
	}
	c.Unlock()
	return isFinal(err), err
}

func (c *client) welcomed(link *link) error {
	message, envelope, err := link.receive(10 * time.Second)
	if err != nil {
		return err
	}
	switch answer := message.(type) {
	case *rv.AgentError:
		sayError(answer)
		return link.lastWord(heard(answer))
	case *rv.ServerWelcome:
		link.session, link.generation = envelope.SessionId, envelope.SessionGeneration
		if link.session == "" || link.generation == 0 {
			return violation("a welcome without a session")
		}
		if v := answer.SelectedProtocol; v.GetMajor() != 1 || v.GetMinor() != 0 {
			return violation("a version that was not offered")
		}
		return link.behind(message)
	}
	return violation("a welcome was expected")
}

func isFinal(err error) bool {
	e, is := err.(ended)
	if !is {
		return false
	}
	switch e.code {
	case rv.ControlErrorCode_CONTROL_ERROR_CODE_UNSUPPORTED_VERSION,
		rv.ControlErrorCode_CONTROL_ERROR_CODE_UNAUTHENTICATED,
		rv.ControlErrorCode_CONTROL_ERROR_CODE_SUPERSEDED:
		return true
	}
	return false
}

// isBadHello says whether our hello makes no sense to the server: it is the same the next time.
func isBadHello(err error) bool {
	e, is := err.(ended)
	return is && e.code == rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT
}

func (c *client) listen(link *link) error {
	c.Lock()
	c.link = link
	c.Unlock()
	for {
		message, _, err := link.receive(0)
		if err == nil {
			err = c.take(link, message)
		}
		if err == nil {
			err = link.behind(message)
		}
		if err != nil && !link.tell(err) {
			return link.lastWord(err)
		}
	}
}

func (c *client) take(link *link, message proto.Message) error {
	c.Lock()
	defer c.Unlock()
	switch m := message.(type) {
	case *rv.ReconcileRequest:
		return c.snapshot(link, m)
	case *rv.ReconcileResult:
		return c.reconciled(link, m)
	case *rv.CommandDispatch:
		return c.dispatched(link, m)
	case *rv.EventAck:
		return c.acknowledged(m)
	case *rv.StdinWrite:
		data := m.Data
		if m.AppendNewline {
			data = append(data, '\n')
		}
		return c.input(m.IssueUuid, m.WriteSeq, data, false)
	case *rv.CloseStdin:
		return c.input(m.IssueUuid, m.WriteSeq, nil, true)
	case *rv.SignalCommand:
		return c.signalled(m)
	case *rv.ScriptChunk:
		return c.chunk(m)
	case *rv.ScriptCommit:
		return c.commit(m)
	case *rv.AgentError:
		sayError(m)
		return heard(m)
	}
	return violation("a payload for servers came")
}

func (c *client) snapshot(link *link, m *rv.ReconcileRequest) error {
	c.held = true
	c.targets = map[string]uint64{}
	snapshot := &rv.ReconcileSnapshot{}
	for _, target := range m.Targets {
		c.targets[target.IssueUuid] = target.LastServerEventSeq
		if tomb, there := c.tombs[target.IssueUuid]; there {
			snapshot.RetainedCommands = append(snapshot.RetainedCommands, &rv.ReconcileCommandState{
				IssueUuid: target.IssueUuid, LastClientEventSeq: tomb.last, Tombstoned: true,
				Lifecycle:              rv.CommandLifecycle_COMMAND_LIFECYCLE_EXITED,
				CommandRevision:        target.CommandRevision,
				ImmutableRequestSha256: tomb.hash,
			})
		}
	}
	for _, each := range c.order {
		snapshot.RetainedCommands = append(snapshot.RetainedCommands, &rv.ReconcileCommandState{
			IssueUuid: each.uuid, Lifecycle: each.lifecycle, LastClientEventSeq: each.last,
			CommandRevision: each.revision, ImmutableRequestSha256: each.hash,
		})
	}
	return link.send(snapshot)
}

func (c *client) reconciled(link *link, m *rv.ReconcileResult) error {
	lines.Say("reconciled", lines.Event{
		"terminate": m.TerminateLocalIssueUuids, "discard": m.DiscardLocalTerminalIssueUuids,
	})
	for _, uuid := range m.TerminateLocalIssueUuids {
		if command := c.commands[uuid]; command != nil {
			command.gone = true
			command.kill()
			c.bury(command)
		}
	}
	for _, uuid := range m.DiscardLocalTerminalIssueUuids {
		if command := c.commands[uuid]; command != nil {
			c.bury(command)
		}
	}
	c.held = false
	for _, each := range c.order {
		for _, event := range each.events {
			if event.EventSeq > c.targets[each.uuid] {
				if err := link.send(event); err != nil {
					return err
				}
			}
		}
	}
	c.told = [2]uint32{^uint32(0), 0}
	c.tellCapacity()
	return nil
}

// bury leaves a tombstone of a command.
func (c *client) bury(command *command) {
	c.tombs[command.uuid] = tombstone{command.hash, command.last}
	delete(c.commands, command.uuid)
	for at, each := range c.order {
		if each == command {
			c.order = append(c.order[:at:at], c.order[at+1:]...)
			break
		}
	}
}

func (c *client) acknowledged(m *rv.EventAck) error {
	command := c.commands[m.IssueUuid]
	if command == nil {
		return nil
	}
	if m.ThroughEventSeq > command.last {
		return violation("an acknowledgement of what was never sent")
	}
	for len(command.events) > 0 && command.events[0].EventSeq <= m.ThroughEventSeq {
		command.events = command.events[1:]
	}
	if command.ended && len(command.events) == 0 {
		c.bury(command)
	}
	return nil
}

// tellCapacity says the numbers where they have changed.
func (c *client) tellCapacity() {
	running, queued := c.count()
	now := [2]uint32{running, queued}
	if c.link == nil || c.held || c.told == now {
		return
	}
	c.told = now
	c.link.send(&rv.ClientCapacity{
		RunningCommands: running, QueuedCommands: queued,
		MaxRunningCommands: uint32(c.options.running),
		MaxQueuedCommands:  uint32(c.options.queued),
	})
}

func (c *client) count() (running, queued uint32) {
	for _, each := range c.order {
		if each.running {
			running++
		} else if !each.ended {
			queued++
		}
	}
	return
}

func (c *client) endAll() {
	c.Lock()
	defer c.Unlock()
	for _, each := range c.order {
		each.kill()
	}
}
