package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	rv "fleetgate.example/interop/gen/rvbox"
	"fleetgate.example/interop/lines"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// host is a client as the server knows it: through all its links.
type host struct {
	id         string
	instance   string
	generation uint64
	link       *link
	ready      bool // its snapshot was compared: work may be dispatched
	room       int  // what it has room for, less what was dispatched since it said so
	snapshot   *time.Timer
}

// server is one, with what it journaled. One lock guards all of it.
type server struct {
	sync.Mutex
	cuts  cuts
	hosts map[string]*host
	runs  map[string]*run
	order []*run
}

func newServer() *server {
	return &server{hosts: map[string]*host{}, runs: map[string]*run{}}
}

func (s *server) listen(o options) {
	listener, scheme, err := o.files.Listen(o.at)
	if err != nil {
		fail(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/agent", s.serve)
	go http.Serve(listener, mux)
	lines.Say("ready", lines.Event{"address": scheme + listener.Addr().String() + "/agent"})
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{"rvbox.v1"}, InsecureSkipVerify: true,
	})
	if err != nil {
		return
	}
	defer socket.CloseNow()
	socket.SetReadLimit(messageLimit)
	link := &link{socket: socket, cuts: &s.cuts}
	host, err := s.welcome(link)
	if err != nil {
		link.tell(err)
		return
	}
	lines.Say("link", lines.Event{
		"state": "up", "client": host.id, "generation": link.generation,
		"subprotocol": socket.Subprotocol(),
	})
	err = s.listenTo(host, link)
	s.Lock()
	if host.link == link {
		host.link, host.ready = nil, false
		host.snapshot.Stop()
	}
	s.Unlock()
	sayDown(host.id, err)
}

// notice is how long the end of an older link may take to be seen here, before it counts as alive.
const notice = time.Second

var printable = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)

func (s *server) welcome(link *link) (*host, error) {
	// A read that is given up closes the socket, and then nothing can be said any more.
	late := time.AfterFunc(10*time.Second, func() { link.tell(violation("no hello came")) })
	message, envelope, err := link.receive(0)
	late.Stop()
	if err != nil {
		return nil, err
	}
	hello, is := message.(*rv.ClientHello)
	if !is || envelope.SessionId != "" || envelope.SessionGeneration != 0 {
		return nil, violation("a hello without a session was expected")
	}
	low, high := hello.SupportedProtocol.GetMinimum(), hello.SupportedProtocol.GetMaximum()
	switch {
	case !printable.MatchString(hello.ClientId) || hello.ClientInstanceId == "",
		len(hello.SupportedShells) == 0, low == nil, high == nil:
		return nil, over(rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, 1008, "bad hello")
	case low.GetMajor() > 1 || high.GetMajor() < 1 || low.GetMajor() == 1 && low.GetMinor() > 0:
		return nil, over(rv.ControlErrorCode_CONTROL_ERROR_CODE_UNSUPPORTED_VERSION, 1008,
			fmt.Sprintf("1.0 to 1.0 here, %v to %v there", low, high))
	}
	s.Lock()
	defer s.Unlock()
	known := s.hosts[hello.ClientId]
	if known == nil {
		known = &host{id: hello.ClientId}
		s.hosts[known.id] = known
	}
	for end := time.Now().Add(notice); time.Now().Before(end); {
		if known.link == nil || known.instance == hello.ClientInstanceId {
			break
		}
		s.Unlock()
		time.Sleep(10 * time.Millisecond)
		s.Lock()
	}
	if old := known.link; old != nil {
		if known.instance != hello.ClientInstanceId {
			return nil, over(rv.ControlErrorCode_CONTROL_ERROR_CODE_CLIENT_ID_IN_USE, 1008, "in use")
		}
		superseded := over(rv.ControlErrorCode_CONTROL_ERROR_CODE_SUPERSEDED, 4002, "superseded")
		go old.tell(superseded)
	}
	other := known.instance != "" && known.instance != hello.ClientInstanceId
	known.instance, known.link, known.ready = hello.ClientInstanceId, link, false
	known.generation++
	known.room = int(hello.MaxRunningCommands + hello.MaxQueuedCommands)
	id := make([]byte, 16)
	rand.Read(id)
	link.newer = high.GetMajor() > 1 || high.GetMinor() > 0
	link.session, link.generation = hex.EncodeToString(id), known.generation
	lines.Say("hello", lines.Event{
		"client": known.id, "instance": known.instance, "cwd": hello.DaemonCwd,
		"shells": len(hello.SupportedShells), "other": other,
	})
	err = link.send(&rv.ServerWelcome{
		SelectedProtocol: &rv.ProtocolVersion{Major: 1}, ServerTime: timestamppb.Now(),
	})
	if err == nil {
		err = link.behind(message)
	}
	if err == nil {
		err = s.reconcile(known)
	}
	return known, err
}

// reconcile asks the client what it has. Until its answer was compared nothing is dispatched.
func (s *server) reconcile(h *host) error {
	h.ready = false
	request := &rv.ReconcileRequest{}
	for _, each := range s.order {
		if each.client == h.id && each.dispatched && !each.ended {
			request.Targets = append(request.Targets, &rv.ReconcileTarget{
				IssueUuid: each.uuid, LastServerEventSeq: each.last,
				CommandRevision:        each.dispatch.CommandRevision,
				ImmutableRequestSha256: each.dispatch.ImmutableRequestSha256,
			})
		}
	}
	link := h.link
	h.snapshot = time.AfterFunc(30*time.Second, func() {
		link.tell(violation("no snapshot came"))
	})
	return link.send(request)
}

func (s *server) listenTo(h *host, link *link) error {
	for {
		message, _, err := link.receive(0)
		if err == nil {
			err = s.take(h, link, message)
		}
		if err == nil {
			err = link.behind(message)
		}
		if err != nil && !link.tell(err) {
			return link.lastWord(err)
		}
	}
}

func (s *server) take(h *host, link *link, message proto.Message) error {
	s.Lock()
	defer s.Unlock()
	if h.link != link {
		return over(rv.ControlErrorCode_CONTROL_ERROR_CODE_SUPERSEDED, 4002, "superseded")
	}
	switch m := message.(type) {
	case *rv.ReconcileSnapshot:
		return s.compare(h, m)
	case *rv.CommandAccepted:
		return s.accepted(m)
	case *rv.CommandEvent:
		return s.event(h, m)
	case *rv.ClientCapacity:
		h.room = int(m.MaxQueuedCommands) - int(m.QueuedCommands) +
			int(m.MaxRunningCommands) - int(m.RunningCommands)
		for _, each := range s.order {
			if each.client == h.id && each.dispatched && !each.accepted && !each.ended {
				h.room--
			}
		}
		return s.dispatchWaiting(h)
	case *rv.AgentError:
		sayError(m)
		return heard(m)
	}
	return violation("a payload for clients came")
}

func (s *server) compare(h *host, m *rv.ReconcileSnapshot) error {
	if h.ready {
		return violation("a snapshot that nobody asked for")
	}
	h.snapshot.Stop()
	result := &rv.ReconcileResult{}
	claimed := map[string]*rv.ReconcileCommandState{}
	for _, each := range m.RetainedCommands {
		run := s.runs[each.IssueUuid]
		other := run != nil &&
			key(run.dispatch.ImmutableRequestSha256) != key(each.ImmutableRequestSha256)
		if !other { // another request under this name: ours is missing
			claimed[each.IssueUuid] = each
		}
		switch {
		case each.Tombstoned:
		case run == nil, other, run.state == "lost":
			result.TerminateLocalIssueUuids = append(result.TerminateLocalIssueUuids, each.IssueUuid)
		case run.ended:
			result.DiscardLocalTerminalIssueUuids = append(
				result.DiscardLocalTerminalIssueUuids, each.IssueUuid)
		}
	}
	for _, each := range s.order {
		if each.client != h.id || !each.dispatched || each.ended {
			continue
		}
		state := claimed[each.uuid]
		switch {
		case state == nil && !each.accepted:
			each.dispatched = false // it is dispatched again
		case state == nil, state.Tombstoned:
			each.finish("lost", nil)
		case state.LastClientEventSeq < each.last:
			each.finish("lost", nil)
			result.TerminateLocalIssueUuids = append(result.TerminateLocalIssueUuids, each.uuid)
		default:
			each.accepted = true
		}
	}
	if err := h.link.send(result); err != nil {
		return err
	}
	h.ready = true
	lines.Say("reconciled", lines.Event{
		"client": h.id, "retained": len(m.RetainedCommands),
		"terminate": result.TerminateLocalIssueUuids,
		"discard":   result.DiscardLocalTerminalIssueUuids,
	})
	for _, each := range s.order {
		if each.client == h.id && each.dispatched && !each.ended {
			if err := s.catchUp(h, each); err != nil {
				return err
			}
		}
	}
	return s.dispatchWaiting(h)
}

// catchUp sends what a client that was away may lack: its input, and a script from the start.
func (s *server) catchUp(h *host, each *run) error {
	for _, write := range each.writes {
		if err := h.link.send(write); err != nil {
			return err
		}
	}
	if each.awaiting {
		return s.upload(h, each)
	}
	return nil
}

func (s *server) dispatchWaiting(h *host) error {
	if h.link == nil || !h.ready {
		return nil
	}
	for _, each := range s.order {
		if each.client != h.id || each.dispatched || each.ended || h.room <= 0 {
			continue
		}
		h.room--
		each.dispatched = true
		each.dispatch.TargetSessionGeneration = h.link.generation
		if err := h.link.send(each.dispatch); err != nil {
			return err
		}
		for _, write := range each.writes {
			if err := h.link.send(write); err != nil {
				return err
			}
		}
	}
	return nil
}
