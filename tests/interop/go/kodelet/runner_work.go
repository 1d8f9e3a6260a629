package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

var void = struct{}{}

// decode reads params. None at all are "unexpected end of JSON input", and null is all empty.
func decode(params json.RawMessage, into any) *rpcError {
	if err := json.Unmarshal(params, into); err != nil {
		return failed(invalidParams, err.Error())
	}
	return nil
}

func notActive(text string) *rpcError { return because(stale, text, "run_not_active") }

var canceled = failed(unavailable, "context canceled")

func (r *runner) answer(
	ctx context.Context, id, method string, params json.RawMessage,
) (any, *rpcError) {
	switch method {
	case "run.open":
		return r.open(ctx, params)
	case "run.close":
		return nil, r.close(params)
	case "run.cancel":
		return nil, r.cancelRun(params)
	case "tool.execute":
		return r.execute(ctx, id, params)
	case "lifecycle.dispatch":
		return r.dispatch(ctx, params)
	case "command.execute":
		return r.command(ctx, params)
	}
	return nil, failed(noMethod, "runner request method not found")
}

// --- runs

func (r *runner) open(ctx context.Context, params json.RawMessage) (any, *rpcError) {
	var asked struct {
		RunID          string `json:"runId"`
		ConversationID string `json:"conversationId"`
		Agent          struct {
			EnvironmentProfile string `json:"environmentProfile"`
		} `json:"agent"`
		ClientCapabilities struct {
			InteractiveUI bool `json:"interactiveUI"`
		} `json:"clientCapabilities"`
		ReservedToolNames []string `json:"reservedToolNames"`
	}
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	if asked.RunID == "" {
		return nil, failed(invalidParams, "runId is required")
	}
	if asked.ConversationID == "" {
		return nil, failed(invalidParams, "conversationId is required")
	}
	mine, fault := r.hold(asked.RunID, asked.ConversationID, asked.ClientCapabilities.InteractiveUI)
	if fault != nil {
		return nil, fault
	}
	made, fault := r.opened(ctx, mine, asked.Agent.EnvironmentProfile, asked.ReservedToolNames)
	r.Lock()
	defer r.Unlock()
	if fault == nil && mine.ctx.Err() != nil {
		fault = canceled
	}
	if fault != nil {
		delete(r.runs, mine.id)
		close(mine.gone)
		return nil, fault
	}
	mine.ready = true
	return made, nil
}

// hold takes the places of a run and of its conversation.
func (r *runner) hold(id, conversation string, interactive bool) (*run, *rpcError) {
	r.Lock()
	defer r.Unlock()
	if !r.registered {
		return nil, failed(unavailable, "runner has not completed registration")
	}
	if r.runs[id] != nil {
		return nil, failed(conflict, "runner already has run "+id)
	}
	for _, each := range r.runs {
		if each.conversation == conversation {
			return nil, failed(busy, "conversation already has active run "+each.id)
		}
	}
	ctx, cancel := context.WithCancel(r.peer.ctx)
	mine := &run{
		id: id, conversation: conversation, ctx: ctx, cancel: cancel, interactive: interactive,
		gone: make(chan struct{}),
	}
	r.runs[id] = mine
	return mine, nil
}

func (r *runner) opened(
	ctx context.Context, mine *run, profile string, reserved []string,
) (*manifest, *rpcError) {
	until := func(wait <-chan time.Time, gate chan struct{}) *rpcError {
		select {
		case <-wait:
		case gate <- struct{}{}:
		case <-ctx.Done():
			return canceled
		case <-mine.ctx.Done():
			return canceled
		}
		return nil
	}
	if fault := until(nil, r.gate); fault != nil {
		return nil, fault
	}
	defer func() { <-r.gate }()
	if strings.HasPrefix(mine.conversation, "slowopen") {
		if fault := until(time.After(2*time.Second), nil); fault != nil {
			return nil, fault
		}
	}
	if profile != "" && !strings.EqualFold(profile, "default") {
		return nil, failed(internal, "failed to load runner configuration: no profile "+profile)
	}
	made := r.offers()
	for _, name := range reserved {
		for _, each := range made.Tools {
			if each.Name == name {
				text := "runner tool " + name + " collides with a reserved control-plane tool"
				return nil, failed(internal, text)
			}
		}
	}
	r.Lock()
	made.RunnerID, made.Generation, made.RunID = r.id, r.generation, mine.id
	r.Unlock()
	digest, err := made.digest()
	if err != nil {
		return nil, failed(internal, err.Error())
	}
	made.Digest = digest
	return &made, nil
}

// find is a run that is there, in whichever state; call it with the lock.
func (r *runner) find(id string) (*run, *rpcError) {
	if mine := r.runs[id]; mine != nil {
		return mine, nil
	}
	if len(r.runs) > 0 {
		return nil, notActive("request belongs to another runner run: runner has no active run")
	}
	return nil, notActive("runner has no active run")
}

type ofRun struct {
	RunID string `json:"runId"`
}

func (r *runner) close(params json.RawMessage) *rpcError {
	var asked ofRun
	if fault := decode(params, &asked); fault != nil {
		return fault
	}
	r.Lock()
	mine, fault := r.find(asked.RunID)
	if fault != nil {
		r.Unlock()
		return fault
	}
	first := mine.closing == nil
	if first {
		mine.closing = make(chan struct{})
	}
	mine.stopping = true
	mine.cancel()
	ready := mine.ready
	r.Unlock()
	if !first {
		<-mine.closing
		return nil
	}
	if ready {
		mine.work.Wait()
	} else {
		<-mine.gone
	}
	r.Lock()
	delete(r.runs, mine.id)
	r.Unlock()
	close(mine.closing)
	return nil
}

func (r *runner) cancelRun(params json.RawMessage) *rpcError {
	var asked ofRun
	if fault := decode(params, &asked); fault != nil {
		return fault
	}
	r.Lock()
	defer r.Unlock()
	mine, fault := r.find(asked.RunID)
	if fault == nil {
		mine.stopping = true
		mine.cancel()
	}
	return fault
}

// enter begins something that a run does; leave ends it. The context ends with either.
func (r *runner) enter(ctx context.Context, id string) (*run, context.Context, func(), *rpcError) {
	r.Lock()
	defer r.Unlock()
	mine, fault := r.find(id)
	if fault != nil {
		return nil, nil, nil, fault
	}
	if !mine.ready || mine.closing != nil {
		return nil, nil, nil, failed(unavailable, "runner environment is not ready")
	}
	both, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(mine.ctx, cancel)
	mine.work.Add(1)
	return mine, both, func() { stop(); cancel(); mine.work.Done() }, nil
}

// --- what a run does

func toolResult(name, text, fault string) map[string]any {
	structured := map[string]any{
		"toolName": name, "success": fault == "", "timestamp": time.Now().UTC().Format(time.RFC3339),
	}
	result := map[string]any{"assistantFacing": text, "structured": structured}
	if fault != "" {
		result["error"], structured["error"] = fault, fault
	}
	return result
}

func (r *runner) execute(
	ctx context.Context, wire string, params json.RawMessage,
) (any, *rpcError) {
	var asked struct {
		RunID       string          `json:"runId"`
		ToolCallID  string          `json:"toolCallId"`
		Name        string          `json:"name"`
		Input       json.RawMessage `json:"input"`
		WantUpdates bool            `json:"wantUpdates"`
	}
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	if strings.TrimSpace(asked.ToolCallID) == "" || strings.TrimSpace(asked.Name) == "" {
		return nil, failed(invalidParams, "toolCallId and name are required")
	}
	mine, ctx, leave, fault := r.enter(ctx, asked.RunID)
	if fault != nil {
		return nil, fault
	}
	defer leave()
	update := func(text string) {
		if !asked.WantUpdates {
			return
		}
		r.Lock()
		mine.sequence++
		params := map[string]any{
			"runId": mine.id, "toolCallId": asked.ToolCallID, "requestId": wire,
			"sequence": mine.sequence, "result": toolResult(asked.Name, text, ""),
		}
		peer := r.peer
		r.Unlock()
		if peer != nil {
			peer.update(params)
		}
	}
	text, failure, fault := r.perform(ctx, mine, asked.Name, update)
	if fault != nil {
		return nil, fault
	}
	input := asked.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return map[string]any{"input": input, "result": toolResult(asked.Name, text, failure)}, nil
}

func (r *runner) perform(
	ctx context.Context, mine *run, name string, update func(string),
) (text, failure string, fault *rpcError) {
	switch name {
	case "echo":
		return "echoed", "", nil
	case "big":
		return strings.Repeat("x", messageLimit), "", nil
	case "stream":
		for _, part := range []string{"a", "ab", "abc"} {
			update(part)
			time.Sleep(20 * time.Millisecond) // or the result would overtake them
		}
		return "abc", "", nil
	case "sleep":
		<-ctx.Done()
		return "", "", canceled
	case "stubborn":
		<-ctx.Done()
		time.Sleep(time.Second)
		return "at last", "", nil
	case "ask":
		return r.ask(ctx, mine)
	}
	return "<error>\nfailed to find tool\n</error>\n", "failed to find tool", nil
}

func (r *runner) ask(ctx context.Context, mine *run) (text, failure string, fault *rpcError) {
	r.Lock()
	peer := r.peer
	r.Unlock()
	if !mine.interactive || peer == nil {
		return `{"status":"unavailable","reason":"client ui input is not available"}`, "", nil
	}
	answer, err := peer.call(ctx, "ui.input", map[string]any{
		"runId": mine.id, "owner": map[string]any{"extensionId": "ext", "generation": 1},
		"request": map[string]any{"id": random("q", 6), "title": "Name?"},
	}, nil)
	if ctx.Err() != nil {
		return "", "", canceled
	}
	if err != nil {
		return "", err.Error(), nil
	}
	return string(answer), "", nil
}

func (r *runner) dispatch(ctx context.Context, params json.RawMessage) (any, *rpcError) {
	var asked struct {
		RunID            string          `json:"runId"`
		Event            string          `json:"event"`
		Message          string          `json:"message"`
		SystemPrompt     string          `json:"systemPrompt"`
		AllowedTools     []string        `json:"allowedTools"`
		ToolInput        json.RawMessage `json:"toolInput"`
		StructuredResult json.RawMessage `json:"structuredResult"`
	}
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	_, _, leave, fault := r.enter(ctx, asked.RunID)
	if fault != nil {
		return nil, fault
	}
	defer leave()
	switch asked.Event {
	case "user.message":
		if asked.Message == "blockme" {
			return nil, failed(internal, "message blocked by extension: no")
		}
		return map[string]any{"message": asked.Message}, nil
	case "agent.init":
		return map[string]any{
			"systemPrompt": asked.SystemPrompt, "allowedTools": asked.AllowedTools,
		}, nil
	case "agent.start", "turn.start", "turn.end", "agent.end":
		return void, nil
	case "tool.call":
		if len(asked.ToolInput) == 0 {
			asked.ToolInput = json.RawMessage("{}")
		}
		return map[string]any{"toolInput": asked.ToolInput}, nil
	case "tool.update", "tool.result":
		if len(asked.StructuredResult) == 0 || string(asked.StructuredResult) == "null" {
			text := "structuredResult is required for tool output lifecycle"
			return nil, failed(invalidParams, text)
		}
		return map[string]any{"structuredResult": asked.StructuredResult}, nil
	}
	return nil, failed(invalidParams, "unsupported lifecycle event "+asked.Event)
}

func (r *runner) command(ctx context.Context, params json.RawMessage) (any, *rpcError) {
	var asked struct {
		RunID   string `json:"runId"`
		Message string `json:"message"`
	}
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	_, _, leave, fault := r.enter(ctx, asked.RunID)
	if fault != nil {
		return nil, fault
	}
	defer leave()
	name, rest, _ := strings.Cut(asked.Message, " ")
	switch {
	case !strings.HasPrefix(name, "/"):
		return map[string]any{"matched": false}, nil
	case name == "/hello":
		return map[string]any{
			"matched": true, "action": "respond", "commandName": "hello", "response": "hello " + rest,
		}, nil
	}
	text := "slash command '" + name + "' is not available in the pinned run manifest"
	return nil, failed(internal, text)
}
