package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleetgate.example/interop/lines"
)

var reserved = []string{"get_goal", "update_goal", "read_conversation"}

// do is what somebody has the control plane ask for. What cannot be is an event "bad".
func (p *plane) do(o op) error {
	if o.Op == "open" {
		return p.open(o)
	}
	p.Lock()
	defer p.Unlock()
	if o.Op == "drop" {
		if known := p.runners[o.Runner]; known != nil && known.link != nil {
			known.link.peer.drop()
			return nil
		}
		return errors.New("runner is offline")
	}
	run := p.runs[o.Run]
	if run == nil {
		return fmt.Errorf("there is no run %s", o.Run)
	}
	switch o.Op {
	case "tool":
		return p.tool(run, o)
	case "abort":
		if cancel := run.calls[o.Call]; cancel != nil {
			cancel()
			return nil
		}
		return fmt.Errorf("there is no call %s", o.Call)
	case "cancel":
		go p.cancel(run)
		return nil
	case "close":
		go p.close(run, "succeeded")
		return nil
	}
	return fmt.Errorf("no operation %q", o.Op)
}

// open asks for a run where the gate of section 9.1 lets it.
func (p *plane) open(o op) error {
	p.Lock()
	defer p.Unlock()
	known := p.runners[o.Runner]
	switch {
	case known == nil:
		return errors.New("runner not found")
	case known.link == nil:
		return errors.New("runner is offline")
	case !known.ready:
		return errors.New("runner has not completed its initial heartbeat")
	case known.fault:
		return errors.New("runner is not available: error")
	case p.runs[o.Run] != nil:
		return errors.New("run id already exists")
	}
	for _, each := range p.runs {
		if each.record == known && !known.concurrent {
			return errors.New("runner does not support concurrent runs")
		}
		if each.conversation == o.Conv {
			return fmt.Errorf("conversation already has active run %s", each.id)
		}
	}
	run := &prun{
		id: o.Run, conversation: o.Conv, record: known, link: known.link, state: "opening",
		calls: map[string]context.CancelFunc{},
	}
	p.runs[run.id] = run
	go p.opening(run, known.id, known.generation)
	return nil
}

func (p *plane) opening(run *prun, runner string, generation int64) {
	text, err := run.link.peer.call(run.link.peer.ctx, "run.open", map[string]any{
		"runId": run.id, "conversationId": run.conversation,
		"agent":              map[string]any{"provider": "interop", "model": "none", "invokedBy": "main"},
		"clientCapabilities": map[string]any{"interactiveUI": true, "persistentSurfaces": false},
		"reservedToolNames":  reserved,
	}, nil)
	var refused *rpcError
	if errors.As(err, &refused) {
		p.Lock()
		p.forget(run, "failed")
		p.Unlock()
		return
	}
	made := &manifest{}
	if err == nil {
		err = json.Unmarshal(text, made)
	}
	if err == nil {
		err = made.check(runner, run.id, generation, reserved)
	}
	if err != nil {
		lines.Say("refused", lines.Event{"run": run.id, "why": err.Error()})
		p.close(run, "failed")
		return
	}
	p.Lock()
	defer p.Unlock()
	run.state, run.updates = "running", made.Capabilities.ToolUpdates
	lines.Say("run", lines.Event{"run": run.id, "state": "running", "digest": made.Digest})
}

func (p *plane) tool(run *prun, o op) error {
	if run.state != "running" {
		return fmt.Errorf("run is not active: %s", run.state)
	}
	if run.calls[o.Call] != nil {
		return errors.New("tool call id is already active for this run")
	}
	ctx, cancel := context.WithCancel(run.link.peer.ctx)
	run.calls[o.Call] = cancel
	params := map[string]any{
		"runId": run.id, "toolCallId": o.Call, "name": o.Tool, "input": void,
	}
	if run.updates {
		params["wantUpdates"] = true
	}
	go func() {
		defer cancel()
		text, err := run.link.peer.call(ctx, "tool.execute", params, nil)
		p.Lock()
		delete(run.calls, o.Call)
		p.Unlock()
		said := lines.Event{"run": run.id, "call": o.Call, "result": text}
		var refused *rpcError
		if errors.As(err, &refused) {
			said["code"], said["why"], said["reason"] = refused.Code, refused.Message, refused.reason()
		} else if err != nil {
			said["why"] = err.Error()
		}
		lines.Say("result", said)
	}()
	return nil
}

func (p *plane) cancel(run *prun) {
	ctx, done := context.WithTimeout(run.link.peer.ctx, 10*time.Second)
	defer done()
	_, err := run.link.peer.call(ctx, "run.cancel", map[string]any{
		"runId": run.id, "reason": "context canceled",
	}, nil)
	p.Lock()
	defer p.Unlock()
	if err == nil {
		run.state = "canceled"
		lines.Say("run", lines.Event{"run": run.id, "state": "canceled"})
	}
}

func (p *plane) close(run *prun, state string) {
	ctx, done := context.WithTimeout(run.link.peer.ctx, 10*time.Second)
	defer done()
	_, err := run.link.peer.call(ctx, "run.close", map[string]any{"runId": run.id}, nil)
	var refused *rpcError
	if errors.As(err, &refused) && refused.Code == stale &&
		(refused.reason() == "" || refused.reason() == "run_not_active") {
		err = nil
	}
	p.Lock()
	defer p.Unlock()
	if p.runs[run.id] != run {
		return
	}
	if err != nil {
		state = "lost"
	}
	p.forget(run, state)
}
