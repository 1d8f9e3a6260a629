package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	rv "fleetgate.example/interop/gen/rvbox"
	"fleetgate.example/interop/lines"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// run is a command as the server has journaled it.
type run struct {
	uuid       string
	client     string
	dispatch   *rv.CommandDispatch
	dispatched bool
	accepted   bool
	awaiting   bool // the client waits for its script
	ended      bool
	state      string
	last       uint64
	acked      uint64
	ack        *time.Timer
	script     []byte
	writes     []proto.Message // those that no stdin_ack has reached
	written    uint64
}

func (s *server) do(o op) error {
	switch o.Op {
	case "cut":
		s.cuts.set(o)
		return nil
	case "start":
		return s.start(o)
	}
	s.Lock()
	defer s.Unlock()
	if o.Op == "drop" || o.Op == "stale" || o.Op == "ask" {
		h := s.hosts[o.Client]
		if h == nil || h.link == nil {
			return fmt.Errorf("no link to %q", o.Client)
		}
		return s.misbehave(h, o)
	}
	run := s.runs[o.Run]
	if run == nil {
		return fmt.Errorf("no run %q", o.Run)
	}
	h := s.hosts[run.client]
	live := h != nil && h.link != nil && h.ready && run.dispatched
	switch o.Op {
	case "send", "close_input":
		return run.input(h, o, live)
	case "signal":
		if !live {
			return errors.New("the client is away")
		}
		return h.link.send(&rv.SignalCommand{
			IssueUuid: run.uuid, CommandRevision: run.dispatch.CommandRevision,
			Signal: rv.SignalKind(rv.SignalKind_value["SIGNAL_KIND_"+strings.ToUpper(o.Signal)]),
		})
	case "again": // the same command, under its own revision, as if its answer had been lost
		if !live {
			return errors.New("the client is away")
		}
		return h.link.send(run.dispatch)
	case "other": // another command under a known id
		if !live {
			return errors.New("the client is away")
		}
		forged := proto.Clone(run.dispatch).(*rv.CommandDispatch)
		forged.ImmutableRequestSha256 = make([]byte, 32)
		return h.link.send(forged)
	case "gap": // an input that leaves one out
		if !live {
			return errors.New("the client is away")
		}
		return h.link.send(&rv.StdinWrite{IssueUuid: run.uuid, WriteSeq: run.written + 2})
	}
	return fmt.Errorf("no operation %q", o.Op)
}

// misbehave does to a client what it may meet, or must not.
func (s *server) misbehave(h *host, o op) error {
	switch o.Op {
	case "stale": // an envelope of the session before
		return h.link.sendAs(&rv.EventAck{IssueUuid: o.Run}, h.link.generation-1)
	case "ask": // in the middle of a session
		return s.reconcile(h)
	}
	return h.link.socket.CloseNow()
}

func (s *server) start(o op) error {
	spec := &rv.ExecutionSpec{OpenStdin: o.Stdin}
	made := &run{uuid: o.Run, client: o.Client, state: "open"}
	switch {
	case o.Line != "":
		spec.Program = &rv.ExecutionSpec_CommandLine{CommandLine: o.Line}
	case o.Script != "":
		sum := sha256.Sum256([]byte(o.Script))
		ref := &rv.ScriptRef{SizeBytes: uint64(len(o.Script)), Sha256: sum[:], Args: o.Argv}
		spec.Program = &rv.ExecutionSpec_Script{Script: ref}
		made.script = []byte(o.Script)
	default:
		spec.Program = &rv.ExecutionSpec_Argv{Argv: &rv.Argv{Args: o.Argv}}
	}
	if o.Timeout > 0 {
		spec.Timeout = durationpb.New(time.Duration(o.Timeout) * time.Millisecond)
	}
	made.dispatch = &rv.CommandDispatch{IssueUuid: o.Run, IssueTime: timestamppb.Now(), Spec: spec}
	fixed, err := proto.MarshalOptions{Deterministic: true}.Marshal(made.dispatch)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fixed)
	made.dispatch.ImmutableRequestSha256, made.dispatch.CommandRevision = sum[:], 1
	s.Lock()
	defer s.Unlock()
	s.runs[o.Run] = made
	s.order = append(s.order, made)
	if h := s.hosts[o.Client]; h != nil {
		return s.dispatchWaiting(h)
	}
	return nil
}

func (r *run) input(h *host, o op, live bool) error {
	r.written++
	var message proto.Message = &rv.StdinWrite{
		IssueUuid: r.uuid, WriteSeq: r.written, Data: []byte(o.Text), AppendNewline: o.Newline,
	}
	if o.Op == "close_input" {
		message = &rv.CloseStdin{IssueUuid: r.uuid, WriteSeq: r.written}
	}
	r.writes = append(r.writes, message)
	if live {
		h.link.send(message) // a link that is lost here is told of by whoever reads from it
	}
	return nil
}

func (s *server) accepted(m *rv.CommandAccepted) error {
	run := s.runs[m.IssueUuid]
	if run == nil {
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_NOT_FOUND, "unknown")
	}
	code := strings.TrimPrefix(m.GetRejection().GetCode().String(), "CONTROL_ERROR_CODE_")
	lines.Say("accepted", lines.Event{"run": run.uuid, "accepted": m.Accepted, "code": code})
	if m.Accepted {
		run.accepted = true
	} else if !run.accepted {
		run.finish("rejected", nil)
	}
	return nil
}

func (r *run) finish(state string, exit *rv.CommandExit) {
	r.ended, r.state = true, state
	event := lines.Event{"run": r.uuid, "state": state}
	if exit != nil {
		event["signal"] = exit.Signal
		event["exit"] = exit.ExitCode
		event["lifecycle"] = strings.TrimPrefix(exit.Lifecycle.String(), "COMMAND_LIFECYCLE_")
	}
	lines.Say("finished", event)
}

// event journals one, and then acknowledges it.
func (s *server) event(h *host, m *rv.CommandEvent) error {
	run := s.runs[m.IssueUuid]
	if run == nil || run.client != h.id {
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_NOT_FOUND, "unknown")
	}
	if run.ended && m.EventSeq > run.last {
		lines.Say("late", lines.Event{"run": run.uuid, "seq": m.EventSeq})
		return nil
	}
	if m.EventSeq > run.last+1 {
		lines.Say("gap", lines.Event{"run": run.uuid, "seq": m.EventSeq, "last": run.last})
		h.link.tell(about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_OUT_OF_ORDER, "a gap"))
		return s.reconcile(h)
	}
	if m.EventSeq <= run.last {
		lines.Say("again", lines.Event{"run": run.uuid, "seq": m.EventSeq})
		return h.link.send(&rv.EventAck{IssueUuid: run.uuid, ThroughEventSeq: run.last})
	}
	run.last, run.accepted = m.EventSeq, true
	if err := s.journal(h, run, m); err != nil {
		return err
	}
	return s.acknowledge(run)
}

func (s *server) journal(h *host, run *run, m *rv.CommandEvent) error {
	event := lines.Event{"run": run.uuid, "seq": m.EventSeq}
	switch e := m.Event.(type) {
	case *rv.CommandEvent_Lifecycle:
		name := strings.TrimPrefix(e.Lifecycle.Lifecycle.String(), "COMMAND_LIFECYCLE_")
		event["lifecycle"] = name
		event["pid"] = e.Lifecycle.Pid
		lines.Say("lifecycle", event)
		awaiting := e.Lifecycle.Lifecycle == rv.CommandLifecycle_COMMAND_LIFECYCLE_AWAITING_SCRIPT
		if run.awaiting = awaiting; awaiting {
			return s.upload(h, run)
		}
	case *rv.CommandEvent_Output:
		event["stream"] = strings.TrimPrefix(e.Output.Stream.String(), "OUTPUT_STREAM_")
		event["data_base64"] = base64.StdEncoding.EncodeToString(e.Output.Data)
		event["offset"] = e.Output.Offset
		lines.Say("output", event)
	case *rv.CommandEvent_StdinAck:
		event["through"] = e.StdinAck.ThroughWriteSeq
		lines.Say("stdin_ack", event)
		for len(run.writes) > 0 && seqOf(run.writes[0]) <= e.StdinAck.ThroughWriteSeq {
			run.writes = run.writes[1:]
		}
	case *rv.CommandEvent_Exit:
		run.finish("ended", e.Exit)
	default:
		return violation("an event of no kind")
	}
	return nil
}

func seqOf(write proto.Message) uint64 {
	switch w := write.(type) {
	case *rv.StdinWrite:
		return w.WriteSeq
	case *rv.CloseStdin:
		return w.WriteSeq
	}
	panic("no write")
}

// acknowledge does so after 64 events or 100 ms, whichever comes first.
func (s *server) acknowledge(r *run) error {
	if r.last-r.acked >= 64 {
		return s.sayAck(r)
	}
	if r.ack == nil {
		r.ack = time.AfterFunc(100*time.Millisecond, func() {
			s.Lock()
			defer s.Unlock()
			r.ack = nil
			s.sayAck(r)
		})
	}
	return nil
}

func (s *server) sayAck(r *run) error {
	h := s.hosts[r.client]
	if h == nil || h.link == nil || !h.ready || r.acked == r.last {
		return nil
	}
	r.acked = r.last
	return h.link.send(&rv.EventAck{IssueUuid: r.uuid, ThroughEventSeq: r.last})
}

// upload sends a script, from its start.
func (s *server) upload(h *host, r *run) error {
	for at := 0; at < len(r.script); at += pieceLimit {
		piece := r.script[at:min(at+pieceLimit, len(r.script))]
		sum := sha256.Sum256(piece)
		err := h.link.send(&rv.ScriptChunk{
			IssueUuid: r.uuid, Offset: uint64(at), Data: piece, Sha256: sum[:],
		})
		if err != nil {
			return err
		}
	}
	sum := sha256.Sum256(r.script)
	return h.link.send(&rv.ScriptCommit{
		IssueUuid: r.uuid, SizeBytes: uint64(len(r.script)), Sha256: sum[:],
	})
}
